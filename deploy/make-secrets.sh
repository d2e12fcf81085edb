#!/bin/sh
# Makes the secrets of compose.yaml in deploy/secrets/, once: a password of the database and a settings
# file with the database URL and a fresh master key. Running it again changes nothing.
#
# Keep a copy of muniment.toml, apart from every backup of the database: without the master key nothing
# that is stored can be read again.
set -eu
folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/secrets

if [ -e "$folder/muniment.toml" ]; then
    echo "$folder is there already; nothing was changed"
    exit 0
fi

# Only the owner gets into the folder. The files are readable to all, because the containers' users have
# other numbers than the owner here, and a mounted file keeps its mode.
umask 077
mkdir -p "$folder"
password=$(head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n')
master_key=$(head -c 32 /dev/urandom | base64 | tr -d '\n')
printf '%s' "$password" >"$folder/postgres_password"
cat >"$folder/muniment.toml.new" <<TOML
database_url = "postgresql://postgres:$password@database:5432/muniment"
master_key = "$master_key"
TOML
chmod 644 "$folder/postgres_password" "$folder/muniment.toml.new"
mv "$folder/muniment.toml.new" "$folder/muniment.toml"
echo "made $folder/postgres_password and $folder/muniment.toml"
