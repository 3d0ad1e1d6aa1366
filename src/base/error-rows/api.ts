import type { ErrorRow } from './system.ts'

/** Errors of the API for other programs (docs/api.md). */
export const API_ERRORS = {
  api_address: {
    exit: 2,
    http: 400,
    says: 'The API cannot listen on {address}: {problem}.',
    next: 'Set api.host, api.tls_cert with api.tls_key, or api.trusted_proxies, then: pcc daemon api on',
  },
  api_host: {
    exit: 1,
    http: 421,
    says: 'The API is not reached under the name {host}.',
    next: 'Use its address, or add the name to api.hosts.',
  },
  api_origin: {
    exit: 1,
    http: 403,
    says: 'The web page {origin} may not use the API.',
    next: 'Call it from a program, not from a web page.',
  },
  api_proxy: {
    exit: 1,
    http: 403,
    says: 'The API answers the proxies in api.trusted_proxies alone, and {address} is none of them.',
    next: 'Go through the proxy, or add the address to api.trusted_proxies.',
  },
  api_local_proxy: {
    exit: 1,
    http: 403,
    says: 'A program on this machine asks through a proxy, so nobody can say that it is not an agent.',
    next: 'On this machine use the address of the daemon itself, or pcc.',
  },
  api_port_taken: {
    exit: 1,
    http: 409,
    says: 'The API cannot listen on {address}, because another program listens there.',
    next: 'End that program, or set another port (pcc config set api.port), then: pcc daemon api on',
  },
  api_certificate: {
    exit: 2,
    http: 400,
    says: 'The certificate {file} cannot be used: {problem}.',
    next: 'Put a certificate and its key there that are valid now, then: pcc daemon api on',
  },
  changed_meanwhile: {
    exit: 1,
    http: 412,
    says: '{what} has changed since it was read.',
    next: 'Read it again, and send the change with the new ETag in If-Match.',
  },
  out_of_reach: {
    exit: 1,
    http: 403,
    says: 'This key is for the project {project} only.',
    next: 'Leave the project out, or use a key for all projects.',
  },
  project_unnamed: {
    exit: 2,
    http: 400,
    says: 'The request does not say which project it is about.',
    next: 'Add "project" with the path of its directory.',
  },
  queue_full: {
    exit: 4,
    http: 429,
    says: 'The project {project} has {open} open tasks, and the API takes no more than {limit}.',
    next: 'Send it again when some are done, or raise the limit: pcc config set tasks.queue_size',
  },
  reply_unknown: {
    exit: 1,
    http: 409,
    says: 'A request with the Idempotency-Key {key} was cut off when the daemon ended: nobody knows how far it came.',
    next: 'Look whether it was done; if not, send it again with a new key.',
  },
  reply_of_another: {
    exit: 2,
    http: 422,
    says: 'The Idempotency-Key {key} was used for another request.',
    next: 'Use a new key for every new request.',
  },
  too_many_requests: {
    exit: 4,
    http: 429,
    says: '{who} sends more than {limit} requests in a minute.',
    next: 'Send it again in {seconds} s.',
  },
  webhook_busy: {
    exit: 4,
    http: 429,
    says: '{most} messages are being read, and no more are at once: the slowest of whoever sends most gives way.',
    next: 'Send it again in some seconds.',
  },
  webhook_slow: {
    exit: 1,
    http: 408,
    says: 'The message was not there after {seconds} seconds.',
    next: 'Send it again, over a better connection.',
  },
  webhook_queue_full: {
    exit: 4,
    http: 429,
    says: '{limit} messages wait to be worked on, and no more may.',
    next: 'Send it again later, or raise the limit: pcc config set webhooks.queue_size',
  },
  webhook_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no webhook {name}.',
    next: 'Set its secret (pcc docs webhooks); pcc webhooks status lists those that are set up.',
  },
  webhook_secret: {
    exit: 1,
    http: 503,
    says: 'The secret of the webhook {name} cannot be read now, so nobody can say who sent the message.',
    next: 'See why: pcc webhooks status',
  },
  webhook_signature: {
    exit: 1,
    http: 401,
    says: 'The message for the webhook {name} is not signed with its secret: {why}.',
    next: 'Use the same secret at the sender and here.',
  },
  webhook_late: {
    exit: 1,
    http: 401,
    says: 'The message for the webhook {name} is too old or ahead of time: {why}.',
    next: 'Compare the clocks of both machines, and sign the message anew.',
  },
  webhook_body: {
    exit: 2,
    http: 400,
    says: 'The message for the webhook {name} is signed, but it is not JSON.',
    next: 'Let its sender use the content type application/json.',
  },
  webhook_project: {
    exit: 1,
    http: 404,
    says: 'The project {project} of the webhook is no folder.',
    next: 'Correct its path in the settings of webhooks, then: pcc webhooks retry',
  },
  webhook_taken: {
    exit: 1,
    http: 409,
    says: 'Message {id} was worked on meanwhile.',
    next: 'See what became of it: pcc webhooks show {id}',
  },
  webhook_message: {
    exit: 2,
    http: 404,
    says: 'There is no message {id}.',
    next: 'List them with: pcc webhooks list',
  },
  webhook_not_failed: {
    exit: 2,
    http: 409,
    says: 'Message {id} is {state}; only one that failed or was refused, and whose text is still stored, is tried again.',
    next: 'Let its sender send it again, or see what became of it: pcc webhooks show {id}',
  },
  too_many_streams: {
    exit: 4,
    http: 429,
    says: '{open} event streams are open, and the API allows no more.',
    next: 'Close one, or raise api.max_streams.',
  },
} as const

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
