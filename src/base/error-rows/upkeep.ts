import type { ErrorRow } from './system.ts'

/** Errors of stored secrets. */
export const SECRET_ERRORS = {
  secret_invalid: {
    exit: 2,
    http: 400,
    says: 'The secret {name} cannot be stored: {problem}.',
    next: 'Correct that; nothing was changed.',
  },
  secret_missing: {
    exit: 2,
    http: 404,
    says: 'There is no secret {name}.',
    next: 'See all with: pcc secrets list',
  },
  secret_for_agent: {
    exit: 1,
    http: 409,
    says: '{agent} gets {variable} from the secret {name} (agents.secret_env), which cannot be read: {problem}',
    next: 'Mend that, and see that it can be read: pcc secrets list --check',
  },
  secrets_unreadable: {
    exit: 2,
    http: 409,
    says: 'The file of secrets {file} cannot be used: {problem}.',
    next: 'Mend that, or move the file away and set the secrets again. Nothing was changed.',
  },
  secrets_newer: {
    exit: 5,
    http: 409,
    says: 'The file of secrets {file} has version {found}, and this pcc knows up to {known}.',
    next: 'Use the newer pcc. Nothing was changed.',
  },
  secrets_locked: {
    exit: 3,
    http: 409,
    says: 'The file of secrets is locked: its passphrase is not known here.',
    next: 'Give it with: pcc secrets unlock',
  },
  secrets_unlocked: {
    exit: 2,
    http: 409,
    says: 'The file of secrets has no passphrase: a key file opens it.',
    next: 'Nothing to do.',
  },
  secrets_wrong_key: {
    exit: 2,
    http: 403,
    says: '{problem}',
    next: 'Try again with the right one; nothing was changed.',
  },
  keyring_failed: {
    exit: 1,
    http: 409,
    says: 'The keyring cannot be used: {problem}.',
    next: 'Unlock it and try again, or use the encrypted file: pcc config set secrets.store file',
  },
} as const satisfies Record<string, ErrorRow>

/** Errors of the service that keeps the daemon running. */
export const SERVICE_ERRORS = {
  service_unavailable: {
    exit: 3,
    http: 409,
    says: 'A service cannot be used here: {problem}.',
    next: 'What to do: {way}',
  },
  service_missing: {
    exit: 2,
    http: 404,
    says: 'No service is installed for {home}.',
    next: 'Install it with: pcc service install',
  },
  service_failed: {
    exit: 1,
    http: 409,
    says: '{command} failed: {problem}.',
    next: 'See: pcc service status, pcc service logs',
  },
} as const satisfies Record<string, ErrorRow>
