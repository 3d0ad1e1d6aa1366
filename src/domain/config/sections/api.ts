import { JWT_ALGORITHMS } from '../../option-values.ts'
import { count, flag, optionalAddress, optionalPath, type Setting, someOf, text, texts, word } from '../setting.ts'

/** The API for other programs over TCP (docs/api.md). A project has no say in who may speak to the daemon. */
export const API_SETTINGS = {
  'api.enabled': flag({
    standard: false,
    about: 'Answer the API over TCP; `pcc daemon api on` sets it',
    project: 'never',
  }),
  'api.host': word({
    standard: '127.0.0.1',
    about: 'Address on which the API listens; one that others can reach needs TLS or trusted proxies',
    project: 'never',
  }),
  'api.port': count(0, {
    standard: 8765,
    about: 'Port on which the API listens; 0 takes a free one',
    project: 'never',
  }),
  'api.hosts': texts({
    standard: [],
    about: 'Names under which clients reach the API, beside its address and `localhost`; any other Host is refused',
    project: 'never',
  }),
  'api.tls_cert': optionalPath({
    standard: undefined,
    about: 'Certificate of the API, in PEM; with it the API speaks HTTPS only',
    project: 'never',
  }),
  'api.tls_key': optionalPath({
    standard: undefined,
    about: 'Private key of that certificate, in PEM',
    project: 'never',
  }),
  'api.trusted_proxies': texts({
    standard: [],
    about: 'Addresses of proxies that add TLS; with it the API answers them alone and believes their X-Forwarded-For',
    project: 'never',
  }),
  'api.requests_per_minute': count(0, {
    standard: 3_000,
    about: 'Requests of one key in a minute; more get 429. 0 for no limit',
    project: 'never',
  }),
  'api.max_streams': count(1, {
    standard: 200,
    about: 'Event streams that may be open at once',
    project: 'never',
  }),
  'tasks.queue_size': count(1, {
    standard: 100,
    about: 'Open tasks of a project from which on the API takes no more and answers 429',
    project: 'never',
  }),
} as const satisfies Record<string, Setting>

/** Who may speak to the API with a JSON web token (docs/api-access.md). A project has no say in it. */
export const JWT_SETTINGS = {
  'api.jwt.secret': text({
    standard: undefined,
    about: 'Secret with which tokens are signed by HS256, at least 32 bytes, "env:NAME" or "secret:NAME"',
    project: 'never',
    secret: true,
  }),
  'api.jwt.jwks': optionalAddress({
    standard: undefined,
    about: 'Address of the public keys with which tokens are checked; https, or on this machine',
    project: 'never',
  }),
  'api.jwt.supabase': optionalAddress({
    standard: undefined,
    about: 'Address of a Supabase project; stands for its keys, issuer, audience and claim where these are not set',
    project: 'never',
  }),
  'api.jwt.issuer': text({ standard: undefined, about: 'Who must have issued a token', project: 'never' }),
  'api.jwt.audience': text({ standard: undefined, about: 'For whom a token must be issued', project: 'never' }),
  'api.jwt.algorithms': someOf(JWT_ALGORITHMS, {
    standard: [],
    about: 'Algorithms that count; empty: HS256 with a secret, and RS256, ES256 and EdDSA with public keys',
    project: 'never',
  }),
  'api.jwt.clock_tolerance_seconds': count(0, {
    standard: 30,
    about: 'How much the clocks of this machine and of the issuer may differ',
    project: 'never',
  }),
  'api.jwt.claim': word({
    standard: 'pcc',
    about:
      'Claim that names the scope: a word, or an object with `scope`, `project` and `system`; dots lead into objects',
    project: 'never',
  }),
} as const satisfies Record<string, Setting>
