// The health check of compose's MongoDB, run by mongosh inside its container. It makes a fresh node a replica set of one and gives it its two
// users, which MongoDB allows from the machine itself while there are none; it ends with 0 once that node takes writes.
const password = (name) => require('node:fs').readFileSync(`/run/mongodb/${name}`, 'utf8');

if (db.hello().isreplicaset) rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: 'mongodb:27017' }] });
if (!db.hello().isWritablePrimary) quit(1);

const admin = db.getSiblingDB('admin');
try {
  admin.auth('admin', password('admin-password'));
} catch {
  admin.createUser({ user: 'admin', pwd: password('admin-password'), roles: ['root'] });
  admin.auth('admin', password('admin-password'));
}
if (admin.getUser('qstamp') === null) {
  admin.createUser({ user: 'qstamp', pwd: password('service-password'), roles: [{ role: 'readWrite', db: 'qstamp' }] });
}
