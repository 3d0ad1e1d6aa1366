import { unreachable } from '../../base/errors.ts'
import { findUnlisted } from '../../domain/assessment.ts'
import {
  type Purpose,
  type PurposeAmounts,
  PurposeSplit,
  type SpentByPurpose,
  spentByPurpose,
} from '../../domain/budget.ts'
import { isAutomatic } from '../../domain/deciders.ts'
import type { EventBody, EventOf, StoredEvent } from '../../domain/event.ts'
import type { ObservedSession } from '../../domain/hook-capture.ts'
import type { AccountFault } from '../../domain/limit.ts'
import type { Merge } from '../../domain/merge.ts'
import type { Need } from '../../domain/needs.ts'
import type {
  Commit,
  DecisionsTaken,
  LimitsMet,
  ObservedWork,
  RefusedRequest,
  ShownDecision,
  Spent,
  UnlistedPackage,
} from '../../domain/report.ts'
import { ACCOUNT_FAULTS } from '../../domain/session.ts'
import { branchOfTask } from '../../domain/worktree.ts'
import { git } from '../../workspace/git/git.ts'

type Usage = Pick<EventOf<'usage.reported'>['body'], 'cost_usd' | 'input_tokens' | 'output_tokens'>

/** Nobody reads more of them in the morning; the log has them all. */
const MAX_SHOWN = 30
const MAX_PACKAGES = 200

/** What was used in a period. Usage events hold totals of a session: `before` has the last total of each session before the period. */
export function countSpent(
  events: readonly StoredEvent[],
  before: ReadonlyMap<string, Usage>,
  worked_ms: number,
): Spent {
  const last = new Map<string, Usage>()
  for (const event of events) if (event.kind === 'usage.reported') last.set(event.subject, event.body)
  const asked = events.flatMap(event => (event.kind === 'model.asked' ? [event.body] : []))
  const total = (name: keyof Usage) =>
    [...last].reduce(
      (sum, [session, usage]) => sum + Math.max(0, usage[name] - (before.get(session)?.[name] ?? 0)),
      asked.reduce((sum, usage) => sum + usage[name], 0),
    )
  const whole = { tokens: total('input_tokens') + total('output_tokens'), cost_usd: total('cost_usd') }
  const turns = events.reduce((sum, event) => sum + (event.kind === 'turn.ended' ? event.body.turns : 0), 0)
  const started = events.filter(event => event.kind === 'agent.started')
  return {
    cost_usd: total('cost_usd'),
    input_tokens: total('input_tokens'),
    output_tokens: total('output_tokens'),
    turns,
    tool_calls: events.filter(({ kind }) => kind === 'tool.finished').length,
    sessions: new Set(started.map(({ subject }) => subject)).size,
    unbounded: new Set(started.filter(({ body }) => body.sandboxed === false).map(({ subject }) => subject)).size,
    worked_ms,
    by_purpose: spentByPurpose(whole, sumPurposes(events, before)),
  }
}

/** What each purpose took: of each session from one report of its usage to the next, and of the models that were asked besides. */
function sumPurposes(events: readonly StoredEvent[], before: ReadonlyMap<string, Usage>): Partial<SpentByPurpose> {
  const sums: Partial<SpentByPurpose> = {}
  const add = (parts: Partial<SpentByPurpose>) => {
    for (const [purpose, { tokens, cost_usd }] of Object.entries(parts) as [Purpose, PurposeAmounts][]) {
      const sum = sums[purpose] ?? { tokens: 0, cost_usd: 0 }
      sums[purpose] = { tokens: sum.tokens + tokens, cost_usd: sum.cost_usd + cost_usd }
    }
  }
  const seen = new Map<string, { usage: Usage; split: PurposeSplit }>()
  for (const { kind, subject, body } of events) {
    if (kind === 'model.asked')
      add({ [body.purpose]: { tokens: body.input_tokens + body.output_tokens, cost_usd: body.cost_usd } })
    if (kind !== 'usage.reported') continue
    const { usage, split } = seen.get(subject) ?? { usage: before.get(subject) ?? NO_USAGE, split: new PurposeSplit() }
    const tokens = body.input_tokens + body.output_tokens - usage.input_tokens - usage.output_tokens
    add(split.split({ tokens, cost_usd: body.cost_usd - usage.cost_usd }, body.purpose ?? 'work'))
    seen.set(subject, { usage: body, split })
  }
  return sums
}

const NO_USAGE: Usage = { cost_usd: 0, input_tokens: 0, output_tokens: 0 }

/** What a session without an agent waits for, if its account is the reason. */
export type AccountWait = 'limit' | AccountFault

export function accountWaitOf(event: StoredEvent | undefined): AccountWait | undefined {
  if (event?.kind !== 'session.ended') return undefined
  const { status, failure } = event.body
  if (status === 'rate_limited') return 'limit'
  return status === 'paused' && failure !== undefined ? ACCOUNT_FAULTS[failure] : undefined
}

/**
 * The time that closed accounts cost, by the clock. `waiting`: sessions that waited already when the period began. A session that still
 * waits has waited until the end of the period.
 */
export function countLimits(
  events: readonly StoredEvent[],
  { since, until, waiting }: { since: number; until: number; waiting: ReadonlyMap<string, AccountWait> },
): LimitsMet {
  const open = new Map([...waiting].map(([subject, cause]) => [subject, { cause, from: since, to: until }]))
  const waits = [...open.values()]
  for (const event of events) {
    if (event.kind !== 'session.ended' && event.kind !== 'session.resumed') continue
    const cause = accountWaitOf(event)
    const before = open.get(event.subject)
    if (before?.cause === cause && before !== undefined) continue
    if (before) before.to = event.time
    open.delete(event.subject)
    if (cause === undefined) continue
    const wait = { cause, from: event.time, to: until }
    waits.push(wait)
    open.set(event.subject, wait)
  }
  const waited = (cause: AccountWait) => lengthOf(waits.filter(wait => wait.cause === cause))
  return {
    hits: events.filter(({ kind }) => kind === 'limit.hit').length,
    ...{ waited_ms: waited('limit'), login_ms: waited('login'), credit_ms: waited('credit') },
  }
}

/** How long at least one of the periods lasted. */
function lengthOf(periods: readonly { from: number; to: number }[]): number {
  let [sum, end] = [0, 0]
  for (const { from, to } of periods.toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, end))
    end = Math.max(end, to)
  }
  return sum
}

/** What was decided, by whom, and which decisions are worth showing. */
export function summarizeDecisions(events: readonly StoredEvent[]): DecisionsTaken {
  const decided = events.filter(event => event.kind === 'permission.decided')
  const answers = events.filter(event => event.kind === 'question.answered')
  const automatic = decided.filter(({ body }) => !isPerson(body.by))
  const answered = answers.filter(({ body }) => !isPerson(body.by) && body.declined === undefined)
  const shown = [
    ...automatic.filter(({ body }) => body.risk !== 'LOW').map(shownVerdict),
    ...answered.map(shownAnswer),
  ].toSorted((a, b) => b.at - a.at)
  return {
    allowed: automatic.filter(({ body }) => body.verdict === 'allow').length,
    refused: automatic.filter(({ body }) => body.verdict === 'deny').length,
    answered: answered.length,
    by_you: [...decided, ...answers].filter(({ body }) => isPerson(body.by)).length,
    shown: shown.slice(0, MAX_SHOWN),
    packages: listUnlisted(decided),
  }
}

/**
 * The requests that were refused without a person, each once. What can still be allowed is among the open rows of the list; what a person
 * allowed afterwards was refused no longer.
 */
export function listRefused(events: readonly StoredEvent[], open: readonly Need[]): RefusedRequest[] {
  const requests = new Map<string, RefusedRequest>()
  for (const { kind, time, subject, body } of events) {
    if (kind !== 'permission.decided') continue
    const what = `${body.tool} ${body.target}`
    const next = open.find(({ kind, text }) => kind === 'refused' && text === what)?.next ?? null
    if (isPerson(body.by) && body.verdict === 'allow' && next === null) requests.delete(what)
    if (body.verdict !== 'deny' || isPerson(body.by)) continue
    const { count = 0, at = time } = requests.get(what) ?? {}
    requests.set(what, { what, why: reasonForPerson(body), count: count + 1, at, session_id: subject, next })
  }
  return [...requests.values()].slice(0, MAX_SHOWN)
}

/** Each package once. Whether the command succeeded does not matter: it may have failed after it installed something. */
function listUnlisted(decided: readonly EventOf<'permission.decided'>[]): UnlistedPackage[] {
  const packages = new Map<string, UnlistedPackage>()
  for (const { time, subject, body } of decided) {
    if (body.verdict !== 'allow') continue
    for (const name of (body.reasons ?? []).flatMap(reason => findUnlisted(reason) ?? []))
      if (!packages.has(name)) packages.set(name, { name, session_id: subject, at: time })
  }
  return [...packages.values()].slice(0, MAX_PACKAGES)
}

/** `nobody` is not a person: a request that nobody answered was refused. */
function isPerson(by: string): boolean {
  return by !== 'nobody' && !isAutomatic(by)
}

function shownVerdict({ time, subject, body }: EventOf<'permission.decided'>): ShownDecision {
  const { tool, target, verdict, by, rule } = body
  return {
    ...{
      at: time,
      session_id: subject,
      what: `${tool} ${target}`,
      verdict: verdict === 'allow' ? 'allowed' : 'refused',
    },
    ...{ by: rule === undefined ? by : `${by} ${rule}`, why: reasonForPerson(body) },
  }
}

/** Without what the agent is advised to do instead, and without the path of the worktree: the call stands beside it. */
function reasonForPerson({ reason, reasons = [] }: EventBody<'permission.decided'>): string {
  const [first] = /^inside the project\b/.exec(reason) ?? []
  const found = reasons.find(({ text }) => reason.startsWith(`${text}; `))
  return first ?? found?.text ?? reason
}

function shownAnswer({ time, subject, body }: EventOf<'question.answered'>): ShownDecision {
  const what = Object.entries(body.answers).map(([question, answer]) => `${question} → ${[answer].flat().join(', ')}`)
  return {
    at: time,
    session_id: subject,
    what: what.join(' · '),
    verdict: 'answered',
    by: body.by,
    why: body.reasoning ?? '',
  }
}

/** A night has some hundreds of commits at most. */
const MAX_COMMITS = 2_000
const MAX_BYTES = 4_000_000
/** What is committed there counts for its task when it is merged. */
const TASK_BRANCHES = branchOfTask('*')
const TIMEOUT_MS = 10_000

/** The commits of a project between two moments, on any branch but those of tasks, oldest first; none where git does not answer. */
export async function commitsIn(project: string, since: number, until: number): Promise<Commit[]> {
  const range = [`--since=@${Math.floor(since / 1000) - 1}`, `--until=@${Math.ceil(until / 1000) + 1}`]
  const branches = [`--exclude=${TASK_BRANCHES}`, '--branches']
  const commits = readCommits(
    await readGit(project, ['log', ...branches, ...range, FORMAT, `--max-count=${MAX_COMMITS}`]),
  )
  // Git counts in whole seconds.
  return commits.filter(({ at }) => at >= since - 1000 && at <= until).toSorted((a, b) => a.at - b.at)
}

/**
 * The commits by which a merge moved its target, oldest first. A rebase creates as many new commits as were verified; git may have
 * deleted the verified ones by now, and then only the last new commit is listed.
 */
export async function listMergedCommits({ repository, base, head, result, strategy }: MergedRange): Promise<Commit[]> {
  if (base === null || head === null || result === null) return []
  const range = await madeCommits({ repository, base, head, result, strategy })
  return readCommits(await readGit(repository, ['log', FORMAT, `--max-count=${MAX_COMMITS}`, ...range])).reverse()
}

/** Which commits on the target are a task's, as words for `git log`. */
async function madeCommits({ repository, base, head, result, strategy }: MergedRange): Promise<string[]> {
  const last = (count: number) => [`--max-count=${count}`, `${result}`]
  const count = async () => Number(await readGit(repository, ['rev-list', '--count', `${base}..${head}`]))
  switch (strategy) {
    case 'rebase':
      return last((await count()) || 1)
    case 'merge':
      return (await count()) > 0 ? [`${base}..${head}`] : last(1)
    case 'squash':
      return last(1)
    default:
      return unreachable(strategy)
  }
}

type MergedRange = Pick<Merge, 'repository' | 'base' | 'head' | 'result' | 'strategy'>

function readCommits(output: string): Commit[] {
  return output.split('\n').flatMap(line => {
    const [hash = '', seconds = '', ...subject] = line.split('\t')
    return /^[0-9a-f]{40,64}$/.test(hash) ? [{ hash, at: Number(seconds) * 1000, subject: subject.join('\t') }] : []
  })
}

const FORMAT = '--format=%H%x09%ct%x09%s'

async function readGit(directory: string, args: string[]): Promise<string> {
  const { ok, stdout } = await git(directory, args, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES })
  return ok ? stdout : ''
}

/** What agents did that a person started. */
export function countObserved(sessions: readonly ObservedSession[], until: number): ObservedWork {
  const open = sessions.filter(({ started_at }) => started_at <= until)
  const total = (key: 'calls' | 'denied' | 'input_tokens' | 'output_tokens') =>
    open.reduce((sum, session) => sum + session[key], 0)
  return {
    ...{ sessions: open.length, calls: total('calls'), denied: total('denied') },
    ...{ input_tokens: total('input_tokens'), output_tokens: total('output_tokens') },
    cost_usd: open.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0),
    cost_estimated: open.some(({ cost_usd, cost_estimated }) => cost_usd !== null && cost_estimated === 1),
    cost_unknown: open.filter(({ cost_usd }) => cost_usd === null).length,
  }
}
