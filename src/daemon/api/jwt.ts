import { createHash } from 'node:crypto'
import type { createRemoteJWKSet, JWTPayload, JWTVerifyOptions } from 'jose'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { type Caller, Scope } from '../../domain/access.ts'
import { explainUnreadByDaemon, readSecret } from '../../domain/config/secret-references.ts'
import type { Config } from '../../domain/config/settings.ts'

export type JwtSettings = Config['api']['jwt']

export interface JwtDeps {
  settings(): Promise<JwtSettings>
  env: Record<string, string | undefined>
  log: Pick<Log, 'warn'>
  now(): number
}

/** Who a JSON web token speaks for. Throws if it does not count here. */
export type JwtVerifier = (token: string) => Promise<Caller>

/** How long settings are good for, so that a request does not read files. */
const SETTINGS_MS = 10_000
/** The time for the public keys to arrive. */
const FETCH_MS = 5_000

/**
 * Checks JSON web tokens. The settings decide about the algorithm and the keys, and never the token: one that brings or names its own
 * key is checked with ours, a public key is no secret of HS256, and `none` is no algorithm. Who issued it, for whom, and until when
 * must be in it.
 */
export function openJwtVerifier(deps: JwtDeps): JwtVerifier {
  let known: { until: number; rules: Promise<JwtRules> } | undefined
  const keySets = new Map<string, KeySet>()
  return async token => {
    const now = deps.now()
    if (!known || known.until < now) known = { until: now + SETTINGS_MS, rules: deps.settings().then(readRules) }
    const rules = await known.rules.catch(error => {
      known = undefined
      throw error
    })
    const { jwtVerify, createRemoteJWKSet, errors } = await import('jose')
    const options = { ...rules.options, currentDate: new Date(now) }
    const isSymmetric = isHmac(await readAlgorithm(token))
    const algorithms = rules.algorithms.filter(name => isHmac(name) === isSymmetric)
    try {
      const { payload } =
        isSymmetric && rules.secret
          ? await jwtVerify(token, rules.secret, { ...options, algorithms })
          : await jwtVerify(token, keySetAt(rules.jwks, keySets, createRemoteJWKSet), { ...options, algorithms })
      return callerOf(payload, rules.claim)
    } catch (error) {
      if (error instanceof AppError) throw error
      const code = error instanceof errors.JOSEError ? error.code : NOT_FETCHED
      const problem = PROBLEMS[code] ?? 'it cannot be read'
      if (problem === UNFETCHED) deps.log.warn({ error: String(error) }, 'the keys of JSON web tokens were not fetched')
      throw new AppError('jwt_refused', { problem }, error)
    }
  }

  function readRules(settings: JwtSettings): JwtRules {
    const rules = rulesOf(settings, deps.env)
    if ('problem' in rules) throw new AppError('jwt_refused', { problem: rules.problem })
    return rules
  }
}

type KeySet = ReturnType<typeof createRemoteJWKSet>

interface JwtRules {
  secret: Uint8Array | undefined
  jwks: URL | undefined
  algorithms: string[]
  claim: string
  options: JWTVerifyOptions
}

const OF_SECRETS = ['HS256']
const OF_PUBLIC_KEYS = ['RS256', 'ES256', 'EdDSA']
/** RFC 7518 wants a key of HS256 to be at least as long as its hash. */
const MIN_SECRET_BYTES = 32

/** What the settings say, or why no token counts. */
function rulesOf(settings: JwtSettings, env: JwtDeps['env']): JwtRules | { problem: string } {
  const { supabase, algorithms } = settings
  const base = supabase?.replace(/\/+$/, '')
  const issuer = settings.issuer ?? (base && `${base}/auth/v1`)
  const audience = settings.audience ?? (base && 'authenticated')
  const address = settings.jwks ?? (base && `${base}/auth/v1/.well-known/jwks.json`)
  const given = readSecret(settings.secret, env)
  if (settings.secret === undefined && address === undefined) return { problem: 'this daemon takes none' }
  if (settings.secret !== undefined && given === undefined)
    return { problem: `api.jwt.secret takes ${explainUnreadByDaemon(settings.secret)}` }
  if (issuer === undefined || audience === undefined)
    return { problem: 'api.jwt.issuer and api.jwt.audience are not both set' }
  const secret = given === undefined ? undefined : new TextEncoder().encode(given)
  if (secret && secret.length < MIN_SECRET_BYTES)
    return { problem: `api.jwt.secret is shorter than ${MIN_SECRET_BYTES} bytes` }
  const jwks = address === undefined ? undefined : new URL(address)
  if (jwks && jwks.protocol !== 'https:' && !LOOPBACK.test(jwks.hostname))
    return { problem: 'api.jwt.jwks is not https, so anybody on the way could put other keys there' }
  const usual = [...(secret ? OF_SECRETS : []), ...(jwks ? OF_PUBLIC_KEYS : [])]
  return {
    secret,
    jwks,
    algorithms: algorithms.length > 0 ? algorithms : usual,
    claim: base && settings.claim === 'pcc' ? 'app_metadata.pcc' : settings.claim,
    options: {
      issuer,
      audience,
      clockTolerance: settings.clock_tolerance_seconds,
      requiredClaims: ['sub', 'exp', 'iss', 'aud'],
    },
  }
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** What the token says of itself decides only which of our keys it is checked with. */
async function readAlgorithm(token: string): Promise<string> {
  const { decodeProtectedHeader } = await import('jose')
  try {
    return decodeProtectedHeader(token).alg ?? ''
  } catch (error) {
    throw new AppError('jwt_refused', { problem: 'it cannot be read' }, error)
  }
}

function isHmac(algorithm: string): boolean {
  return algorithm.startsWith('HS')
}

function keySetAt(address: URL | undefined, known: Map<string, KeySet>, create: typeof createRemoteJWKSet): KeySet {
  if (!address) throw new AppError('jwt_refused', { problem: 'its algorithm does not count here' })
  const before = known.get(address.href)
  if (before) return before
  // jose follows no redirect, and asks at most every half minute for a key that it does not know.
  const made = create(address, { timeoutDuration: FETCH_MS })
  known.clear() // of another setting
  known.set(address.href, made)
  return made
}

const UNFETCHED = 'the keys to check it could not be fetched'
/** Not of jose: the network failed. */
const NOT_FETCHED = 'ERR_FETCH'

/** What is wrong, for whoever sent the token; nothing of the token is repeated. */
const PROBLEMS: Record<string, string> = {
  ERR_JWT_EXPIRED: 'it has expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'its issuer, audience, subject or time is not what it must be',
  ERR_JOSE_ALG_NOT_ALLOWED: 'its algorithm does not count here',
  ERR_JOSE_NOT_SUPPORTED: 'its algorithm does not count here',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'its signature is wrong',
  ERR_JWKS_NO_MATCHING_KEY: 'its key is not one of ours',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'it does not say which key it is signed with',
  ERR_JWKS_TIMEOUT: UNFETCHED,
  ERR_JOSE_GENERIC: UNFETCHED,
  ERR_JWKS_INVALID: UNFETCHED,
  [NOT_FETCHED]: UNFETCHED,
}

const Rights = z.object({
  scope: Scope,
  project: z.string().startsWith('/').optional(),
  system: z.string().min(1).optional(),
})

function callerOf(payload: JWTPayload, claim: string): Caller {
  const value = claim.split('.').reduce<unknown>(ownPart, payload)
  const said = {
    scope: typeof value === 'string' ? value : ownPart(value, 'scope'),
    project: ownPart(value, 'project'),
    system: ownPart(value, 'system'),
  }
  const rights = Rights.safeParse(said)
  if (!rights.success) throw new AppError('jwt_refused', { problem: `its claim ${claim} names no scope` })
  const { scope, project = null, system = null } = rights.data
  return { name: nameOf(payload.sub ?? ''), via: 'jwt', scope, project, system }
}

/** What a part of a token says itself, and not what all objects inherit. */
function ownPart(part: unknown, key: string): unknown {
  const isThere = typeof part === 'object' && part !== null && Object.hasOwn(part, key)
  return isThere ? part[key as keyof typeof part] : undefined
}

/** The subject; a long or unprintable one is named by its hash, because a name stands beside answers and in the audit log. */
function nameOf(subject: string): string {
  const isPlain = /^[\x21-\x7e]{1,36}$/.test(subject)
  return `jwt:${isPlain ? subject : createHash('sha256').update(subject).digest('hex').slice(0, 36)}`
}
