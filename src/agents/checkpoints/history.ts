import { isAbsolute, relative } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Checkpoint, KeyDecision } from '../../domain/checkpoint.ts'
import type { EventBody, EventKind, StoredEvent } from '../../domain/event.ts'
import type { PlanItem, QuestionItem } from '../../domain/session.ts'
import type { Store } from '../../store/store.ts'
import { MAX_FILES } from './changed-files.ts'

/** What a session's events say about where it stands. Every part is bounded: a session may live for weeks. */
export interface History {
  lastEvent: number
  plan: PlanItem[] | undefined
  /** Steps that were done in any of the agent's plans, in the order they were. */
  completed: string[]
  decisions: KeyDecision[]
  /** Paths that a tool wrote to, from the project's directory, the latest last. */
  written: string[]
  /** Older ones that gave way. */
  dropped: Checkpoint['dropped']
  /** The last words of turns, and what was said since. */
  said: string[]
  /** Calls that were asked for and have not come back. */
  open: string[]
}

const KINDS: EventKind[] = [
  'plan.changed',
  'agent.said',
  'turn.ended',
  'tool.requested',
  'tool.finished',
  'question.asked',
  'question.parked',
  'question.answered',
  'permission.decided',
  'escalation.answered',
]

/** A stored text may have 20,000 characters, so a page takes some megabytes at most. */
const PAGE = 250
const MAX = { completed: 500, decisions: 200, written: MAX_FILES, said: 6, open: 500, asked: 200 }

const WRITERS = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])

/** Reads a session's events in pages, on from an earlier checkpoint of it where there is one. */
export async function readHistory({
  store,
  session,
  previous,
}: {
  store: Pick<Store, 'events'>
  session: { id: string; project: string }
  previous?: Checkpoint | undefined
}): Promise<History> {
  const reader = new HistoryReader(session.project, previous)
  for (;;) {
    const page = await store.events({ subject: session.id, after: reader.lastEvent, kinds: KINDS, limit: PAGE })
    for (const event of page) reader.take(event)
    // A damaged row is left out of its page, so only an empty page is the end.
    if (page.length === 0) return reader.history()
    // The database answers without leaving this thread: others get their turn here.
    await nextTick()
  }
}

class HistoryReader {
  lastEvent: number
  readonly #project: string
  #plan: PlanItem[] | undefined
  readonly #completed: Set<string>
  readonly #decisions: KeyDecision[]
  readonly #written: Set<string>
  readonly #dropped: Checkpoint['dropped']
  readonly #said: string[] = []
  readonly #open = new Map<string, { tool: string; target: string; path: string | undefined }>()
  readonly #asked = new Map<string, QuestionItem[]>()

  constructor(project: string, previous: Checkpoint | undefined) {
    this.#project = project
    this.lastEvent = previous?.last_event ?? 0
    this.#completed = new Set(previous?.completed_subtasks)
    this.#decisions = [...(previous?.key_decisions ?? [])]
    this.#dropped = { ...(previous?.dropped ?? { decisions: 0, files: 0 }) }
    this.#written = new Set(previous?.modified_files.map(({ path }) => path))
  }

  take(event: StoredEvent): void {
    this.lastEvent = event.id
    switch (event.kind) {
      case 'plan.changed':
        this.#plan = event.body.items
        for (const { text, state } of event.body.items) if (state === 'done') keep(this.#completed, text, MAX.completed)
        return
      case 'agent.said':
        if (event.body.agent_id === undefined) this.#say(event.body.text)
        return
      case 'turn.ended':
        if (event.body.outcome === 'completed') this.#say(event.body.text)
        return
      case 'tool.requested':
        keepEntry(this.#open, event.body.call_id, this.#callOf(event.body), MAX.open)
        return
      case 'tool.finished':
        if (event.body.ok && WRITERS.has(event.body.tool)) this.#write(event.body)
        this.#open.delete(event.body.call_id)
        return
      case 'question.asked':
      case 'question.parked':
        keepEntry(this.#asked, event.body.call_id, event.body.questions, MAX.asked)
        return
      case 'question.answered':
        this.#decide(answerDecisions(event.body, this.#asked.get(event.body.call_id) ?? []))
        this.#asked.delete(event.body.call_id)
        return
      case 'permission.decided':
        this.#decide(permissionDecision(event.body))
        return
      case 'escalation.answered':
        this.#decide(escalationDecision(event.body))
    }
  }

  history(): History {
    return {
      lastEvent: this.lastEvent,
      plan: this.#plan,
      completed: [...this.#completed],
      decisions: this.#decisions,
      written: [...this.#written],
      dropped: this.#dropped,
      said: this.#said,
      open: [...this.#open.values()].map(({ tool, target }) => (target === '' ? tool : `${tool} ${target}`)),
    }
  }

  /** The last words of a turn are said once more when it ends. */
  #say(text: string): void {
    const words = text.trim()
    if (words === '' || words === this.#said.at(-1)) return
    this.#said.push(words)
    if (this.#said.length > MAX.said) this.#said.shift()
  }

  #callOf({ tool, target, input }: { tool: string; target: string; input: Record<string, unknown> }) {
    const path = input['file_path'] ?? input['notebook_path'] ?? input['path']
    return { tool, target, path: WRITERS.has(tool) && typeof path === 'string' ? path : undefined }
  }

  #write({ call_id, target }: { call_id: string; target: string }): void {
    const path = this.#open.get(call_id)?.path ?? target
    const inside = isAbsolute(path) ? relative(this.#project, path) : path
    if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) return
    this.#written.delete(inside)
    this.#dropped.files += keep(this.#written, inside, MAX.written)
  }

  #decide(made: KeyDecision[]): void {
    this.#decisions.push(...made)
    const over = this.#decisions.length - MAX.decisions
    if (over <= 0) return
    this.#decisions.splice(0, over)
    this.#dropped.decisions += over
  }
}

/** Adds to the end; the oldest goes where there are too many. */
function keep(set: Set<string>, value: string, max: number): number {
  set.add(value)
  if (set.size <= max) return 0
  for (const oldest of set) {
    set.delete(oldest)
    return 1
  }
  return 0
}

function keepEntry<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= max) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}

/** What the answers to one call of questions decided, each with what spoke for the chosen option. */
function answerDecisions(body: EventBody<'question.answered'>, asked: QuestionItem[]): KeyDecision[] {
  const { answers, declined, by } = body
  if (declined !== undefined) {
    return asked.map(({ question }) => ({ question, answer: 'nobody answered', rationale: declined, by }))
  }
  return Object.entries(answers).map(([question, chosen]) => {
    const labels = [chosen].flat()
    const options = asked.find(item => item.question === question)?.options ?? []
    const words = options.filter(({ label }) => labels.includes(label)).map(({ description }) => description)
    const rationale = words.filter(text => text !== '').join('; ') || `the words of ${by}`
    return { question, answer: labels.join(', '), rationale, by }
  })
}

/** What a person decided about a tool call. What the policy decides is decided the same way again, so it is not kept. */
function permissionDecision(body: EventBody<'permission.decided'>): KeyDecision[] {
  const { tool, target, verdict, risk, reason, by } = body
  if (by !== 'human' && by !== 'precedent') return []
  return [{ question: mayRun(tool, target, risk), answer: ANSWERS[verdict], rationale: reason, by }]
}

/** What a person said afterwards about a call that nobody could be asked about. An answer to a question is told by its own event. */
function escalationDecision(body: EventBody<'escalation.answered'>): KeyDecision[] {
  const { tool, target, verdict, risk, reason, by } = body
  if (verdict === undefined || tool === 'AskUserQuestion') return []
  const rationale = reason ?? `the decision of ${by}`
  return [{ question: mayRun(tool, target, risk), answer: ANSWERS[verdict], rationale, by }]
}

const ANSWERS = { allow: 'allowed', deny: 'denied' } as const

function mayRun(tool: string, target: string, risk: string): string {
  return `May it run (${risk} risk): ${tool}${target === '' ? '' : ` ${target}`}`
}
