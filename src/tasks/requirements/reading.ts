import { AppError } from '../../base/errors.ts'
import { MAX_REQUIRED_TASKS, type Preference, type RequiredTask, type Requirements } from '../../domain/brain.ts'

/** The requirements in a file, and the ranges of lines that hold its tasks. */
export interface ParsedRequirements {
  requirements: Requirements
  taskLines: [from: number, to: number][]
}

/** The requirements while they are read, with the problems so far. */
export interface RequirementsReading extends ParsedRequirements {
  problems: RequirementsProblem[]
}

export function emptyReading(): RequirementsReading {
  return { requirements: { tasks: [], preferences: [], constraints: [] }, taskLines: [], problems: [] }
}

/** A problem in a file of requirements. */
export interface RequirementsProblem {
  line: number
  field: string
  problem: string
}

/** How many problems one error names: the person fixes these first. */
const SHOWN = 8

/** Throws if a file has problems or a cycle. */
export function refuseProblems(path: string, problems: RequirementsProblem[], tasks: RequiredTask[]): void {
  const all = [...problems, ...findTooMany(tasks)].sort((a, b) => a.line - b.line)
  if (all.length > 0) throw new AppError('requirements_wrong', { path, problems: describeProblems(all) })
  const cycle = findRequirementsCycle(tasks)
  if (!cycle) return
  const steps = cycle.map(({ id, line }) => `${id} (line ${line})`)
  throw new AppError('requirements_cycle', { path, cycle: [...steps, cycle[0]?.id].join(' → ') })
}

/** A value of the file, quoted and shortened for a message. */
export function quoted(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 59)}…` : value)
}

function findTooMany(tasks: RequiredTask[]): RequirementsProblem[] {
  const first = tasks[MAX_REQUIRED_TASKS]
  if (!first) return []
  const problem = `there are ${tasks.length} tasks; a file may have ${MAX_REQUIRED_TASKS}`
  return [{ line: first.line, field: 'tasks', problem }]
}

function describeProblems(problems: RequirementsProblem[]): string {
  const lines = problems.slice(0, SHOWN).map(({ line, field, problem }) => `line ${line}, ${field}: ${problem}`)
  const more = problems.length - lines.length
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/**
 * The open tasks in the order in which they run: higher priority first, then as written, and none before its dependencies.
 * Dependencies that are done are ignored.
 */
export function orderOpenTasks(tasks: readonly RequiredTask[]): RequiredTask[] {
  const open = tasks.filter(({ done }) => !done)
  const left = new Set(open.flatMap(({ id }) => id ?? []))
  const waiting = open.map(task => ({ ...task, depends_on: task.depends_on.filter(id => left.has(id)) }))
  waiting.sort((a, b) => b.priority - a.priority) // the sort is stable: equal priorities stay as written
  const order: RequiredTask[] = []
  for (let next = takeFree(waiting, left); next; next = takeFree(waiting, left)) {
    order.push(next)
    if (next.id !== undefined) left.delete(next.id)
  }
  return order
}

/** A cycle of tasks, each of which depends on the next; undefined if there is none. */
export function findRequirementsCycle(tasks: readonly RequiredTask[]): RequiredTask[] | undefined {
  const byId = new Map(tasks.flatMap(task => (task.id === undefined ? [] : [[task.id, task] as const])))
  const checked = new Set<RequiredTask>()
  for (const task of byId.values()) {
    if (checked.has(task)) continue
    const path = [{ task, rest: [...task.depends_on] }]
    for (let at = path.at(-1); at; at = path.at(-1)) {
      const next = byId.get(at.rest.shift() ?? '')
      const seen = path.findIndex(step => step.task === next)
      if (next && seen >= 0) return path.slice(seen).map(step => step.task)
      if (next && !checked.has(next)) path.push({ task: next, rest: [...next.depends_on] })
      else if (at.rest.length === 0) {
        checked.add(at.task)
        path.pop()
      }
    }
  }
  return undefined
}

function takeFree(waiting: RequiredTask[], left: ReadonlySet<string>): RequiredTask | undefined {
  const index = waiting.findIndex(({ depends_on }) => !depends_on.some(id => left.has(id)))
  return index < 0 ? undefined : waiting.splice(index, 1)[0]
}

/** "Database: PostgreSQL" or "Database = PostgreSQL"; a sentence has no key. */
export function parseKeyValue(line: string): Preference {
  const text = line.trim()
  // Not the colon of an address, a time or `node:test`: a space must follow it, and a few words precede it.
  const match = /^(\p{L}[^:=\n]{0,79}?)\s*(?::(?=\s|$)|=)\s*(.*)$/su.exec(text)
  if (!match) return { key: '', value: text }
  const [, key = '', value = ''] = match
  return { key: key.trim(), value: value.trim() }
}

/** The section that a heading, or a label of plain text, begins. */
export type RequirementsSection = 'overview' | 'tasks' | 'preferences' | 'constraints'

/** The section that a heading names; undefined if it names none. */
export function sectionNamed(heading: string): RequirementsSection | undefined {
  const words = heading
    .toLowerCase()
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
  return SECTION_OF_WORDS.get(words)
}

/** The title in a heading: "Project: Notes" gives "Notes". */
export function titleIn(heading: string): string | undefined {
  return heading.replace(/^project\s*[:–—-]\s*/i, '').trim() || undefined
}

const SECTION_OF_WORDS = new Map<string, RequirementsSection>([
  ['overview', 'overview'],
  ['description', 'overview'],
  ['tasks', 'tasks'],
  ['task list', 'tasks'],
  ['todo', 'tasks'],
  ['to do', 'tasks'],
  ['preferences', 'preferences'],
  ['constraints', 'constraints'],
])

/** "Avoid: MySQL, Redis" prefers neither: each name gets the word "avoid", so that a search among values cannot mistake it. */
export function parsePreference({ key, value }: Preference): Preference {
  return isRuledOut(key) ? { key: '', value: splitAvoided(value).join('; ') } : { key, value }
}

/** Splits a constraint: each thing that is ruled out becomes a constraint of its own. */
export function parseConstraints(text: string): string[] {
  const { key, value } = parseKeyValue(text)
  return isRuledOut(key) && value !== '' ? splitAvoided(value) : [text]
}

function splitAvoided(value: string): string[] {
  return value
    .split(/[,;]|\s+(?:and|or)\s+/i)
    .map(name => name.trim())
    .filter(Boolean)
    .map(name => `avoid ${name}`)
}

function isRuledOut(key: string): boolean {
  return /^(avoid|exclude[ds]?|forbidden|banned|prohibited|disallowed|unwanted|without|no|not|not allowed|(never|do not|don['’]t|must not|mustn['’]t)( use)?)$/i.test(
    key.trim(),
  )
}
