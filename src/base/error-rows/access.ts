import type { ErrorRow } from './system.ts'

/** Errors of keys, JSON web tokens and scopes. Whoever does not know the secret learns only that it is missing or unknown. */
export const ACCESS_ERRORS = {
  key_missing: {
    exit: 1,
    http: 401,
    says: 'The request has no key.',
    next: 'Make one with pcc api keys create, and send it as Authorization: Bearer <key>',
  },
  key_unknown: {
    exit: 1,
    http: 401,
    says: 'The key is not one of this daemon.',
    next: 'Make one with: pcc api keys create',
  },
  key_expired: {
    exit: 1,
    http: 401,
    says: 'The key {name} has expired.',
    next: 'Make a new one with: pcc api keys rotate {name} --expires <time>',
  },
  key_revoked: {
    exit: 1,
    http: 401,
    says: 'The key {name} has been revoked.',
    next: 'Make a new one with: pcc api keys create',
  },
  key_elsewhere: {
    exit: 1,
    http: 403,
    says: 'The key {name} is for the system {system}, and this is {here}.',
    next: 'Use a key of this system.',
  },
  jwt_refused: {
    exit: 1,
    http: 401,
    says: 'The JSON web token was refused: {problem}.',
    next: 'See which tokens count with: pcc docs api-access',
  },
  scope_needed: {
    exit: 1,
    http: 403,
    says: 'This needs the scope {needed}; {name} has {scope}.',
    next: 'Use a key with that scope: pcc api keys create --scope {needed}',
  },
  key_not_found: {
    exit: 2,
    http: 404,
    says: 'There is no key "{ref}".',
    next: 'See all keys with: pcc api keys list',
  },
  key_name_taken: {
    exit: 2,
    http: 409,
    says: 'There is, or was, a key with the name {name}. The audit log names keys, so a name is used once.',
    next: 'Choose another name, or give the key a new secret: pcc api keys rotate {name}',
  },
} as const satisfies Record<string, ErrorRow>
