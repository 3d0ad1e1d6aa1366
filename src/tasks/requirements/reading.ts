import { AppError } from '../../base/errors.ts'
import { MAX_REQUIRED_TASKS, type Preference, type RequiredTask, type Requirements } from '../../domain/brain.ts'

/** What a file of requirements says, and which of its lines, from the one to the other, are its tasks. */
export interface ParsedRequirements {
  requirements: Requirements
  taskLines: [from: number, to: number][]
}

/** The same while it is read, with what is wrong. */
export interface RequirementsReading extends ParsedRequirements {
  problems: RequirementsProblem[]
}

/** A reading of nothing. */
export function emptyReading(): RequirementsReading {
  return { requirements: { tasks: [], preferences: [], constraints: [] }, taskLines: [], problems: [] }
}

/** One thing that is wrong in a file of requirements. */
export interface RequirementsProblem {
  line: number
  field: string
  problem: string
}

/** Problems named in one error: who has more mends these first. */
const SHOWN = 8

/** Throws where a file cannot be taken as it is. */
export function refuseProblems(path: string, problems: RequirementsProblem[], tasks: RequiredTask[]): void {
  const all = [...problems, ...tooMany(tasks)].sort((a, b) => a.line - b.line)
  if (all.length > 0) throw new AppError('requirements_wrong', { path, problems: describeProblems(all) })
  const cycle = findRequirementsCycle(tasks)
  if (!cycle) return
  const way = cycle.map(({ id, line }) => `${id} (line ${line})`)
  throw new AppError('requirements_cycle', { path, cycle: [...way, cycle[0]?.id].join(' → ') })
}

/** A value of the file in a message. */
export function quoted(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 59)}…` : value)
}

function tooMany(tasks: RequiredTask[]): RequirementsProblem[] {
  const first = tasks[MAX_REQUIRED_TASKS]
  if (!first) return []
  const problem = `there are ${tasks.length} tasks; a file may hold ${MAX_REQUIRED_TASKS}`
  return [{ line: first.line, field: 'tasks', problem }]
}

function describeProblems(problems: RequirementsProblem[]): string {
  const lines = problems.slice(0, SHOWN).map(({ line, field, problem }) => `line ${line}, ${field}: ${problem}`)
  const more = problems.length - lines.length
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/**
 * What is open, in the order in which it runs: higher priority first, then as written, and nothing before what it depends on.
 * What depends on something that is done does not wait for it.
 */
export function orderOpenTasks(tasks: readonly RequiredTask[]): RequiredTask[] {
  const open = tasks.filter(({ done }) => !done)
  const left = new Set(open.flatMap(({ id }) => id ?? []))
  const waiting = open.map(task => ({ ...task, depends_on: task.depends_on.filter(id => left.has(id)) }))
  waiting.sort((a, b) => b.priority - a.priority) // stable: as written among equals
  const order: RequiredTask[] = []
  for (let next = takeFree(waiting, left); next; next = takeFree(waiting, left)) {
    order.push(next)
    if (next.id !== undefined) left.delete(next.id)
  }
  return order
}

/** Tasks that wait for one another, in the order in which each depends on the next; undefined where there are none. */
export function findRequirementsCycle(tasks: readonly RequiredTask[]): RequiredTask[] | undefined {
  const byId = new Map(tasks.flatMap(task => (task.id === undefined ? [] : [[task.id, task] as const])))
  const sound = new Set<RequiredTask>()
  for (const task of byId.values()) {
    if (sound.has(task)) continue
    const way = [{ task, rest: [...task.depends_on] }]
    for (let at = way.at(-1); at; at = way.at(-1)) {
      const next = byId.get(at.rest.shift() ?? '')
      const seen = way.findIndex(step => step.task === next)
      if (next && seen >= 0) return way.slice(seen).map(step => step.task)
      if (next && !sound.has(next)) way.push({ task: next, rest: [...next.depends_on] })
      else if (at.rest.length === 0) {
        sound.add(at.task)
        way.pop()
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
  // Not the colon of an address, a time or `node:test`: a space follows it, and before it stand a few words.
  const found = /^(\p{L}[^:=\n]{0,79}?)\s*(?::(?=\s|$)|=)\s*(.*)$/su.exec(text)
  if (!found) return { key: '', value: text }
  const [, key = '', value = ''] = found
  return { key: key.trim(), value: value.trim() }
}

/** The section that a heading, or a label of plain text, begins. */
export type RequirementsSection = 'overview' | 'tasks' | 'preferences' | 'constraints'

/** What a heading is called; undefined where it is none that means something here. */
export function sectionNamed(heading: string): RequirementsSection | undefined {
  const words = heading
    .toLowerCase()
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
  return SECTION_OF_WORDS.get(words)
}

/** "Project: Notes" is called Notes. */
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

/** "Avoid: MySQL, Redis" prefers neither: who looks for names among values must not find these without the word before them. */
export function parsePreference({ key, value }: Preference): Preference {
  return isRuledOut(key) ? { key: '', value: eachAvoided(value).join('; ') } : { key, value }
}

/** The same of constraints: each thing that is ruled out is one of its own. */
export function parseConstraints(text: string): string[] {
  const { key, value } = parseKeyValue(text)
  return isRuledOut(key) && value !== '' ? eachAvoided(value) : [text]
}

function eachAvoided(value: string): string[] {
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
