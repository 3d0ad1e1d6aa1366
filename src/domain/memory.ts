import { createHash, randomBytes } from 'node:crypto'
import * as z from 'zod'

// Memory in two forms. A *record* is a line of the append-only log: what was seen, by whom, with what evidence. An *item* is what follows
// from records (an episode, a procedure, a fact, an anti-pattern) and can be built again from them at any time.

/** The version of a line of the log. A log with a newer one is refused, never rewritten. */
export const MEMORY_SCHEMA = 1

/** Whose word counts more, highest first. What a repository, a web page or a tool's output says is external. */
export const AUTHORITIES = ['person', 'gate', 'agent', 'external'] as const
export type Authority = (typeof AUTHORITIES)[number]

/** Who sees a record. A record of an agent is private to that kind of agent until it is shared. */
export const MEMORY_SCOPES = ['session', 'project', 'global', 'agent'] as const
export type MemoryScope = (typeof MEMORY_SCOPES)[number]

export const FACT_CATEGORIES = ['convention', 'architecture', 'decision', 'preference'] as const

const Text = z.string().max(16_000)
const Share = z.number().min(0).max(1)

const Base = z.object({
  /** Given where the record is made: the same id is stored once. */
  id: z.string().regex(/^m-[0-9a-z-]{6,64}$/),
  time: z.number(),
  schema_version: z.literal(MEMORY_SCHEMA),
  scope: z.enum(MEMORY_SCOPES),
  /** The session, the project (its key, which survives a move) or the kind of agent (`agentIn`); empty for global. */
  of: z.string().max(200),
  acl: z.object({
    /** Roles that may read it; empty for all. */
    roles: z.array(z.string().max(50)).max(10),
    /** When a record of the scope `agent` may be read by others; null for never. */
    shared_at: z.number().nullable(),
  }),
  actor: z.enum(['person', 'daemon', 'hook', 'agent']),
  /** Our name of the agent, never an id that its vendor gave. */
  agent_id: z.string().max(50).nullable(),
  role: z.string().max(50).nullable(),
  session: z.string().nullable(),
  task: z.string().nullable(),
  /** What it rests on: `event:17`, `attempt:t-3fa91c/2`, `commit:…`, `file:src/a.ts@<blob>`, `record:m-…`, `url:…`. */
  evidence: z.array(z.string().max(500)).max(20),
  outcome: z.enum(['success', 'failure', 'unknown']),
  confidence: Share,
  authority: z.enum(AUTHORITIES),
  importance: Share,
})

/** What a procedure answers to: a normalised request or the skeleton of a question, or a pattern that a person wrote. */
const Trigger = z.object({ kind: z.enum(['request', 'question', 'failure', 'glob', 'regex']), text: Text })
export type Trigger = z.infer<typeof Trigger>

/** The kind of event of procedures with a person's pattern: a task, a prompt or a question with a line that matches it. */
export const PATTERN_TYPE = 'text'

/** A file that a fact speaks of, with the git blob that it was true for. */
const AboutFile = z.object({ path: z.string().max(1_000), blob: z.string().max(64) })

export const MemoryRecord = z.discriminatedUnion('kind', [
  /** Something that happened, and how it ended. */
  Base.extend({
    kind: z.literal('episode'),
    event_type: z.string().max(50),
    tool: z.string().max(100).nullable(),
    inputs_hash: z.string().max(64),
    context: Text,
    decision: Text,
    action: Text,
    /** What helped in the end, if it failed at first. */
    fix: Text.nullable(),
    rationale: Text,
    /** Whether nothing similar was known when it was written. */
    is_novel: z.boolean().optional(),
  }),
  /** One success or failure of doing `action` when `trigger` is met. The procedure is the sum of these. */
  Base.extend({ kind: z.literal('procedure'), event_type: z.string().max(50), trigger: Trigger, action: Text }),
  Base.extend({
    kind: z.literal('fact'),
    category: z.enum(FACT_CATEGORIES),
    /** What the fact is about: two facts of one subject contradict each other. */
    subject: z.string().max(200),
    text: Text,
    source: z.string().max(500),
    about: z.array(AboutFile).max(20),
    /** When it became true, if that was before it was recorded. */
    valid_from: z.number().optional(),
  }),
  /** What did not work, or was assumed and is wrong. */
  Base.extend({
    kind: z.literal('anti_pattern'),
    trigger: Trigger,
    text: Text,
    instead: Text.nullable(),
  }),
  /** Items that were shown to an agent, or were held back from it to measure what showing them is worth. */
  Base.extend({ kind: z.literal('recall'), arm: z.enum(['with', 'without']), items: z.array(z.string()).max(50) }),
  /** How a task ended, to compare the tasks with recall and those without. */
  Base.extend({
    kind: z.literal('result'),
    arm: z.enum(['with', 'without']),
    retries: z.number(),
    corrections: z.number(),
    tool_calls: z.number(),
    cost_usd: z.number(),
  }),
  /** An item goes up or down: to another scope, or out of use; a fact, because its files have changed, or are again what they were. */
  Base.extend({
    kind: z.literal('move'),
    item: z.string(),
    to: z.enum([...MEMORY_SCOPES, 'retired', 'stale', 'valid']),
    reason: Text,
  }),
  /** A changed threshold or weight. */
  Base.extend({
    kind: z.literal('policy'),
    version: z.number(),
    name: z.string().max(100),
    before: z.number(),
    after: z.number(),
    reason: Text,
  }),
])
export type MemoryRecord = z.infer<typeof MemoryRecord>
export type RecordKind = MemoryRecord['kind']
export type RecordOf<Kind extends RecordKind> = Extract<MemoryRecord, { kind: Kind }>

export const ITEM_KINDS = ['episode', 'procedure', 'fact', 'anti_pattern'] as const
export type ItemKind = (typeof ITEM_KINDS)[number]

/** Whether items of a kind say what to do next time: they are shown without being searched for, and go up and down. The others say what happened. */
const TEACHES: Record<ItemKind, boolean> = { episode: false, procedure: true, fact: true, anti_pattern: true }
export const TEACHING_KINDS: readonly ItemKind[] = ITEM_KINDS.filter(kind => TEACHES[kind])

/**
 * Whether anybody may write records of a kind: agents, hooks, and files from elsewhere. They say what somebody saw, and nothing that decides
 * for a person, changes a threshold, changes what other projects see, or counts when the value of recall is measured.
 */
export const IS_OPEN: Record<RecordKind, boolean> = {
  episode: true,
  fact: true,
  anti_pattern: true,
  procedure: false,
  recall: false,
  result: false,
  move: false,
  policy: false,
}

/** What was said about the subject of a fact and no longer counts, or never did because a higher authority said something else. */
export interface PastClaim {
  text: string
  category: (typeof FACT_CATEGORIES)[number]
  authority: Authority
  /** The time for which it was true, and when that was recorded. */
  valid_from: number
  valid_until: number
  recorded_at: number
  closed_at: number
}

/** What memory knows, made from records. */
export interface MemoryItem {
  /** Made from what the item is about, so that the same lesson has the same id: `i-` and 16 hex digits. */
  id: string
  kind: ItemKind
  scope: MemoryScope
  of: string
  acl: MemoryRecord['acl']
  agent_id: MemoryRecord['agent_id']
  /** Where it was seen last. */
  session: string | null
  task: string | null
  /** The project that it was promoted from, to which it returns if others contradict it. */
  home: string | null
  /** The kind of event that it answers to, or the category of a fact. */
  type: string
  /** The subject of a fact. */
  subject: string | null
  trigger: Trigger | null
  /** What an agent is shown and what is searched. */
  text: string
  action: string | null
  /** Evidence for and against, with decay: a Beta distribution at `updated_at`. */
  alpha: number
  beta: number
  successes: number
  failures: number
  /** The confidence by the rule of the first design, which a setting chooses (`memory.learning`). */
  seed_confidence: number
  /** How often something else was said about the same. */
  conflicts: number
  /** Since when a fact is true, as far as anybody said, and what was said before it, newest first. */
  valid_from: number
  past: readonly PastClaim[]
  authority: Authority
  /** When somebody of that authority said it last. */
  said_at: number
  importance: number
  tier: 'hot' | 'warm' | 'cold'
  about: readonly { path: string; blob: string }[]
  created_at: number
  updated_at: number
  /** When it stopped being true; null while it is. */
  ended_at: number | null
  /** What ended it: `stale`, because a file that it speaks of has changed, or `retired`. */
  ended_by: 'stale' | 'retired' | null
  uses: number
  last_used_at: number | null
  /** The records that it comes from, newest first, and what those rest on. */
  records: readonly string[]
  evidence: readonly string[]
}

/** One thing that an agent, the brain or a person is shown. */
export interface RecalledItem {
  id: string
  kind: ItemKind
  text: string
  /** In words: `learned in t-3fa91c on 2026-11-17, worked 4 of 5 times`. */
  source: string
  score: number
  tokens: number
}

/** What every record has and most writers leave as it is. */
const DEFAULTS = {
  schema_version: MEMORY_SCHEMA,
  acl: { roles: [] as string[], shared_at: null as number | null },
  agent_id: null as string | null,
  role: null as string | null,
  session: null as string | null,
  task: null as string | null,
  evidence: [] as string[],
  outcome: 'unknown' as MemoryRecord['outcome'],
  confidence: 0.5,
  importance: 0.5,
} as const

type Defaulted = 'id' | 'time' | keyof typeof DEFAULTS
type WithDefaults<Record> = Record extends MemoryRecord
  ? Omit<Record, Defaulted> & Partial<Pick<Record, Defaulted>> & { time: number }
  : never
/** A record before what most records leave as it is was filled in. */
export type NewRecord = WithDefaults<MemoryRecord>

/** Fills a record. Whoever may write it twice (after a crash, from a hook and from the daemon) gives it an `id`; see `recordId`. */
export function newRecord(fields: NewRecord): MemoryRecord {
  return { id: recordId(), ...DEFAULTS, ...fields } as MemoryRecord
}

/**
 * The id of a record: the same for the same `cause` (`event:17`, `attempt:t-3fa91c/2 fact`), a new one without. `group` keeps ids apart that different
 * writers give: whoever could write the id of another's record first would keep that out.
 */
export function recordId(cause?: string, group: '' | 'own-' | 'from-' = ''): string {
  if (cause === undefined) return `m-${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`
  return `m-${group}${createHash('sha256').update(cause).digest('hex').slice(0, 24)}`
}

/** Who reads. A person reads everything; anybody else what the scopes and the ACL of a record allow. */
export interface MemoryReader {
  /** `person` or one of our names of agents; null for the daemon itself, which acts for the session. */
  agent: string | null
  role: string | null
  session: string | null
  /** All keys of the project (`projectKeys`): the first is the one under which it is written. */
  projects: readonly string[]
  now: number
}

/** Whether a reader may see a record or an item. */
export function mayReadMemory(
  { scope, of, acl, authority }: Pick<MemoryItem, 'scope' | 'of' | 'acl' | 'authority'>,
  { agent, role, session, projects, now }: MemoryReader,
): boolean {
  if (agent === 'person') return true
  if (acl.roles.length > 0 && (role === null || !acl.roles.includes(role))) return false
  switch (scope) {
    case 'global':
      return true
    case 'project':
      return projects.includes(of)
    case 'session':
      return of === session
    case 'agent':
      return isForAgentsIn(projects, of, authority) && (nameIn(of) === agent || isShared(acl, now))
  }
}

/** Whom a record of the scope `agent` is for: a kind of agent, and the project to which its own word stays. */
export function agentIn(agent: string, project: string): string {
  return `${agent}@${project}`
}

/** An agent may repeat what another project told it, so only a person's word counts in all of them. */
function isForAgentsIn(projects: readonly string[], of: string, authority: Authority): boolean {
  return of.includes('@') ? projects.includes(of.slice(of.indexOf('@') + 1)) : authority === 'person'
}

function nameIn(of: string): string | undefined {
  return of.split('@', 1)[0]
}

function isShared({ shared_at }: MemoryRecord['acl'], now: number): boolean {
  return shared_at !== null && shared_at <= now
}
