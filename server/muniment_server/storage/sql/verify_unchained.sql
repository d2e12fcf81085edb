-- Events that neither stand in the chain nor wait for their place.
SELECT e.event_id
FROM audit_event e
WHERE e.tenant_id = %(tenant_id)s
      AND NOT EXISTS (SELECT FROM audit_chain c
                      WHERE c.tenant_id = %(tenant_id)s AND c.event_id = e.event_id)
      AND NOT EXISTS (SELECT FROM audit_queue q
                      WHERE q.tenant_id = %(tenant_id)s AND q.event_id = e.event_id)
ORDER BY e.event_id
LIMIT %(limit)s
