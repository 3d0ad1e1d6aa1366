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
  too_many_streams: {
    exit: 4,
    http: 429,
    says: '{open} event streams are open, and the API allows no more.',
    next: 'Close one, or raise api.max_streams.',
  },
} as const
