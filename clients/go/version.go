package muniment

// Version of this client.
const Version = "0.1.0"

const clientName = "muniment-go/" + Version
