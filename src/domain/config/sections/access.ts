import { JWT_ALGORITHMS } from '../../option-values.ts'
import { count, optionalAddress, type Setting, someOf, text, word } from '../setting.ts'

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
