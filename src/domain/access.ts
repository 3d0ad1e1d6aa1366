import * as z from 'zod'
import { isAutomatic } from './deciders.ts'
import { SCOPES } from './option-values.ts'

export const Scope = z.enum(SCOPES)
export type Scope = z.infer<typeof Scope>

/** Who speaks to the daemon. What it changes is recorded under this name, and never under one that the request claims. */
export interface Caller {
  name: string
  /** Over the Unix socket with the token of this installation; with a key; with a JSON web token. */
  via: 'socket' | 'key' | 'jwt'
  scope: Scope
  /** The only project that it may see and change. */
  project: string | null
  /** The only system whose daemon it may speak to. */
  system: string | null
}

/** The person at this machine: whoever can read the token of this installation and is no agent. */
export const OWNER: Caller = { name: 'you', via: 'socket', scope: 'admin', project: null, system: null }

/** Whether the caller may do what needs this scope. */
export function mayUse({ scope }: Pick<Caller, 'scope'>, needed: Scope): boolean {
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed)
}

/** Whether the caller may see and change what belongs to this project, or with null what belongs to none. */
export function mayReach({ project }: Pick<Caller, 'project'>, wanted: string | null): boolean {
  return project === null || project === wanted
}

/**
 * What anybody who reaches the daemon may ask without a key: whether it lives, and whether it takes work. A message of a webhook is
 * signed instead.
 */
export const OPEN_ROUTES = ['/health', '/health/ready', '/webhook/:name'] as const

/** Names that answers and the audit log use for others. */
const TAKEN_NAMES: ReadonlySet<string> = new Set(['you', 'human', 'nobody', 'daemon', 'agent', 'telegram'])

/** The name of a key: it stands beside answers and in the audit log, so it is never that of somebody else. */
export const KeyName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,39}$/, 'small letters, digits, dots and dashes, up to 40')
  .refine(name => !isAutomatic(name) && !TAKEN_NAMES.has(name), 'this name is taken by pcc itself')

/** A key as it is stored: the secret is not there, only its hash. */
export interface ApiKey {
  id: string
  name: string
  /** SHA-256 of the whole key, in hex. A key has 256 random bits, so there is nothing to guess and no salt is needed. */
  hash: string
  scope: Scope
  project: string | null
  system: string | null
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
}

/** A key as people see it. */
export type ApiKeyView = Omit<ApiKey, 'hash'> & { state: 'valid' | 'expired' | 'revoked' }

export const CreateApiKey = z.strictObject({
  name: KeyName.optional(),
  scope: Scope,
  /** The real path of a project. */
  project: z.string().startsWith('/').max(4096).optional(),
  system: z.string().min(1).max(200).optional(),
  expires_at: z.int().positive().optional(),
})
export type CreateApiKey = z.infer<typeof CreateApiKey>

/** The only time that the secret is shown. */
export interface NewApiKey {
  key: ApiKeyView
  secret: string
}

/** One change that somebody asked for. It is stored before it happens; `failed` is the HTTP status if it did not. */
export interface AuditEntry {
  id: number
  time: number
  caller: string
  via: Caller['via']
  scope: Scope
  /** The method and the pattern of the route. */
  action: string
  /** What the pattern stands for, as in `number=3`. */
  target: string
  request_id: string
  failed: number | null
}
