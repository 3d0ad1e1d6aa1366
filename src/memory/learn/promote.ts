import type { MemoryItem, MemoryScope, RecordOf } from '../../domain/memory.ts'
import { decay, lowerBound, meanAt } from './belief.ts'
import { knob, type PolicyValues } from './policy.ts'

/** A move before it becomes a record: the broker adds id, time and authority (`gate`). */
export type ProposedMove = Pick<RecordOf<'move'>, 'item' | 'to' | 'scope' | 'of' | 'reason'> & { evidence: string[] }

export interface PromotionContext {
  now: number
  policy: PolicyValues
  /** The key of the project of a session; undefined if nobody knows it any more. */
  projectOf(session: string): string | undefined
}

/** A lesson that fails more often than this, by its mean, is not kept. */
const LEAST_MEAN = 0.35
const PROJECTS_FOR_GLOBAL = 2
/** What must be sure before others rely on it. */
const LEAST_BOUND = 0.7

/**
 * Which items go up or down. Up: from sessions to their project when it worked often enough in two of them, and from two projects to all, each time
 * only what has outcomes of a gate or a person and nothing that comes from outside. Down: a lesson of all projects that one of them contradicts
 * returns to its own, and one that fails goes out of use. Pure; the caller writes the records.
 */
export function proposeMoves(items: readonly MemoryItem[], context: PromotionContext): ProposedMove[] {
  const open = items.filter(
    ({ kind, ended_at, authority }) => kind !== 'episode' && ended_at === null && authority !== 'external',
  )
  const retired = open.flatMap(item => retireFailing(item, context))
  const gone = new Set(retired.map(({ item }) => item))
  const left = open.filter(({ id }) => !gone.has(id))
  const demoted = left.flatMap(item => demote(item, left))
  const moved = new Set(demoted.map(({ item }) => item))
  // An answer to a call in one project says nothing about another, whose scripts of the same name may do anything.
  const groups = [
    ...Map.groupBy(
      left.filter(({ id, type }) => !moved.has(id) && type !== 'permission'),
      lessonKey,
    ).values(),
  ]
  return [...retired, ...demoted, ...groups.flatMap(group => promote(group, context))]
}

/** Equal for the same lesson in different scopes. */
function lessonKey({ kind, type, trigger, subject, text, action }: MemoryItem): string {
  return JSON.stringify([
    kind,
    type,
    trigger?.kind,
    trigger?.text,
    subject?.toLowerCase(),
    action,
    kind === 'fact' ? text : '',
  ])
}

function promote(group: readonly MemoryItem[], context: PromotionContext): ProposedMove[] {
  if (group.some(({ scope }) => scope === 'global')) return []
  const proven = group.filter(item => isProven(item, context))
  const projects = new Map(proven.flatMap(item => (item.scope === 'project' ? [[item.of, item]] : [])))
  const [first] = [...projects.values()].toSorted(bySuccesses)
  if (first && projects.size >= PROJECTS_FOR_GLOBAL)
    return [proposal(first, 'global', '', `worked in ${projects.size} projects`, [...projects.values()])]
  const sessions = group.filter(item => item.scope === 'session' && item.successes > 0 && !isOnlyAgents(item))
  const byProject = Map.groupBy(sessions, ({ of }) => context.projectOf(of) ?? '')
  return [...byProject].flatMap(([project, items]) => {
    const known = group.some(({ scope, of }) => scope === 'project' && of === project)
    const successes = items.reduce((sum, item) => sum + item.successes, 0)
    const failures = items.reduce((sum, item) => sum + item.failures, 0)
    const [best] = items.toSorted(bySuccesses)
    const isEnough = successes >= knob(context.policy, 'promotion.successes') && failures * 4 <= successes
    if (project === '' || known || !best || !isEnough || items.length < 2) return []
    return [proposal(best, 'project', project, `worked ${successes} times in ${items.length} sessions`, items)]
  })
}

const bySuccesses = (a: MemoryItem, b: MemoryItem) => b.successes - a.successes || (a.id < b.id ? -1 : 1)

/** What only agents said was never checked. */
function isOnlyAgents({ authority }: MemoryItem): boolean {
  return authority === 'agent'
}

function isProven(item: MemoryItem, { now, policy }: PromotionContext): boolean {
  if (isOnlyAgents(item) || item.successes < knob(policy, 'promotion.successes')) return false
  return lowerBound(decay(item, now, knob(policy, 'advice.half_life_days'))) >= LEAST_BOUND
}

function proposal(
  item: MemoryItem,
  scope: MemoryScope,
  of: string,
  reason: string,
  from: readonly MemoryItem[],
): ProposedMove {
  const evidence = from.flatMap(({ records }) => records.slice(0, 3).map(id => `record:${id}`)).slice(0, 20)
  return { item: item.id, to: scope, scope, of, reason, evidence }
}

/** Its own project keeps what others contradict; of a lesson that failed everywhere nothing is kept. */
function demote(item: MemoryItem, all: readonly MemoryItem[]): ProposedMove[] {
  if (item.scope !== 'global') return []
  const rivals = all.filter(other => other.scope === 'project' && other.of !== item.home && contradicts(other, item))
  const [rival] = rivals
  if (!rival || rival.authority === 'agent') return []
  const reason = `${rival.of} says otherwise`
  return item.home === null
    ? [{ item: item.id, to: 'retired', scope: 'global', of: '', reason, evidence: [`record:${rival.records[0]}`] }]
    : [proposal(item, 'project', item.home, reason, [rival])]
}

function contradicts(other: MemoryItem, item: MemoryItem): boolean {
  if (other.kind !== item.kind) return false
  if (item.kind === 'fact')
    return other.subject?.toLowerCase() === item.subject?.toLowerCase() && other.text !== item.text
  if (item.trigger === null || other.trigger?.text !== item.trigger.text || other.type !== item.type) return false
  return other.action === item.action ? other.failures > other.successes : other.successes > other.failures
}

/** A lesson or an anti-pattern that its own outcomes speak against. Permissions stay: a refusal is knowledge, too. */
function retireFailing(item: MemoryItem, { now, policy }: PromotionContext): ProposedMove[] {
  if (item.type === 'permission' || item.failures < 2) return []
  if (meanAt(item, now, knob(policy, 'advice.half_life_days')) >= LEAST_MEAN) return []
  const { id, scope, of, successes, failures, records } = item
  const reason = `worked ${successes} of ${successes + failures} times`
  return [
    { item: id, to: 'retired', scope, of, reason, evidence: records.slice(0, 3).map(record => `record:${record}`) },
  ]
}
