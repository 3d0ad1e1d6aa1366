/** Words in the name of a variable that say that it holds a secret. */
const SECRET =
  /(^|_)(API_?KEY|KEY|SECRET|SECRETS|TOKEN|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?|AUTH|PRIVATE_KEY|ACCESS_KEY|PAT|DSN|COOKIE|SESSION_KEY)(_|$)/i
const SECRET_ENDS = /(APIKEY|PASSWORD|SECRET|TOKEN|PASSPHRASE)$/i
/** Addresses that usually carry a password. */
const CONNECTION =
  /^(DATABASE|DB|POSTGRES|PG|MYSQL|MONGO|MONGODB|REDIS|AMQP|PROD|PRODUCTION)_?(URL|URI|DSN|CONNECTION_STRING)$/i
const HARMLESS = new Set(['PWD', 'OLDPWD', 'GPG_KEY', 'KEY', 'PASS', 'AUTH', 'pass', 'key', 'token', 'auth', 'pwd'])

/** Whether a variable of this name holds a secret, going by its name. */
export function isSecretVariable(name: string): boolean {
  if (HARMLESS.has(name)) return false
  return SECRET.test(name) || SECRET_ENDS.test(name) || CONNECTION.test(name)
}
