#!/bin/sh
# Makes what docker compose keeps secret, once: the master key, a password each for Redis and MongoDB, and what needs them. Each reader gets a
# folder of its own, so the service, Redis and MongoDB see no secret of another that they do not need.
set -eu
umask 077
service=${SERVICE_DIR:-/secrets/service} redis=${REDIS_DIR:-/secrets/redis} mongodb=${MONGODB_DIR:-/secrets/mongodb}
service_user=${SERVICE_USER:-1000} redis_user=${REDIS_USER:-999} mongodb_user=${MONGODB_USER:-999}

# Writes standard input to the file $2, for the user $1 alone to read; a crash leaves no half of it.
keep() {
  rm -f "$2.unfinished"
  cat > "$2.unfinished"
  chmod 400 "$2.unfinished"
  chown "$1" "$2.unfinished"
  mv -f "$2.unfinished" "$2"
}
random() { head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

# Secrets of an earlier start stay as they are: the database is encrypted by them.
test -s "$service/master-key" || head -c 32 /dev/urandom | base64 | keep "$service_user" "$service/master-key"

# The last file is the sign that all are there; until then no server has been started with any of them.
test -s "$service/mongodb-url" && exit
redis_password=$(random)
mongodb_password=$(random)
random | keep "$mongodb_user" "$mongodb/key-file"
random | keep "$mongodb_user" "$mongodb/admin-password"
printf %s "$mongodb_password" | keep "$mongodb_user" "$mongodb/service-password"
printf 'requirepass %s\n' "$redis_password" | keep "$redis_user" "$redis/redis.conf"
printf %s "$redis_password" | keep "$redis_user" "$redis/password"
printf 'redis://:%s@redis:6379\n' "$redis_password" | keep "$service_user" "$service/redis-url"
printf 'mongodb://qstamp:%s@mongodb:27017/qstamp?replicaSet=rs0&authSource=admin\n' "$mongodb_password" | keep "$service_user" "$service/mongodb-url"
