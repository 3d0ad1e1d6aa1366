import { isAbsolute, relative } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Checkpoint, KeyDecision } from '../../domain/checkpoint.ts'
import type { EventBody, EventKind, StoredEvent } from '../../domain/event.ts'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import type { PlanItem, QuestionItem } from '../../domain/session.ts'
import type { Store } from '../../store/store.ts'
import { MAX_FILES } from './changed-files.ts'

/** The state of a session from its events. Every part is bounded, because a session may live for weeks. */
export interface History {
  lastEvent: number
  plan: PlanItem[] | undefined
  /** Steps that were done in any of the agent's plans, in order. */
  completed: string[]
  decisions: KeyDecision[]
  /** Paths that a tool wrote to, relative to the project, the latest last. */
  written: string[]
  /** Counts of older entries that were dropped. */
  dropped: Checkpoint['dropped']
  /** The answers of turns, and the agent's messages since. */
  messages: string[]
  /** Calls that were requested and have no result yet. */
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
const MAX = { completed: 500, decisions: 200, written: MAX_FILES, messages: 6, open: 500, asked: 200 }

/** Reads a session's events in pages, starting after its earlier checkpoint if there is one. */
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
    // A damaged row is left out of its page, so only an empty page means the end.
    if (page.length === 0) return reader.history()
    // The database answers synchronously: this lets other work run.
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
  readonly #messages: string[] = []
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
        if (event.body.agent_id === undefined) this.#addText(event.body.text)
        return
      case 'turn.ended':
        if (event.body.outcome === 'completed') this.#addText(event.body.text)
        return
      case 'tool.requested':
        keepEntry(this.#open, event.body.call_id, this.#callOf(event.body), MAX.open)
        return
      case 'tool.finished':
        if (event.body.ok && WRITING_TOOLS.has(event.body.tool)) this.#addWritten(event.body)
        this.#open.delete(event.body.call_id)
        return
      case 'question.asked':
      case 'question.parked':
        keepEntry(this.#asked, event.body.call_id, event.body.questions, MAX.asked)
        return
      case 'question.answered':
        this.#addDecisions(answerDecisions(event.body, this.#asked.get(event.body.call_id) ?? []))
        this.#asked.delete(event.body.call_id)
        return
      case 'permission.decided':
        this.#addDecisions(permissionDecision(event.body))
        return
      case 'escalation.answered':
        this.#addDecisions(escalationDecision(event.body))
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
      messages: this.#messages,
      open: [...this.#open.values()].map(({ tool, target }) => (target === '' ? tool : `${tool} ${target}`)),
    }
  }

  /** Skips a repeated text: the last message of a turn comes once more when the turn ends. */
  #addText(text: string): void {
    const trimmed = text.trim()
    if (trimmed === '' || trimmed === this.#messages.at(-1)) return
    this.#messages.push(trimmed)
    if (this.#messages.length > MAX.messages) this.#messages.shift()
  }

  #callOf({ tool, target, input }: { tool: string; target: string; input: Record<string, unknown> }) {
    const path = input['file_path'] ?? input['notebook_path'] ?? input['path']
    return { tool, target, path: WRITING_TOOLS.has(tool) && typeof path === 'string' ? path : undefined }
  }

  #addWritten({ call_id, target }: { call_id: string; target: string }): void {
    const path = this.#open.get(call_id)?.path ?? target
    const inside = isAbsolute(path) ? relative(this.#project, path) : path
    if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) return
    this.#written.delete(inside)
    this.#dropped.files += keep(this.#written, inside, MAX.written)
  }

  #addDecisions(added: KeyDecision[]): void {
    this.#decisions.push(...added)
    const excess = this.#decisions.length - MAX.decisions
    if (excess <= 0) return
    this.#decisions.splice(0, excess)
    this.#dropped.decisions += excess
  }
}

/** Adds a value to the end and removes the oldest if there are too many. Returns how many were removed. */
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

/** The decisions in the answers to one call, each with the description of the chosen option. */
function answerDecisions(body: EventBody<'question.answered'>, asked: QuestionItem[]): KeyDecision[] {
  const { answers, declined, by } = body
  if (declined !== undefined) {
    return asked.map(({ question }) => ({ question, answer: 'nobody answered', rationale: declined, by }))
  }
  return Object.entries(answers).map(([question, chosen]) => {
    const labels = [chosen].flat()
    const options = asked.find(item => item.question === question)?.options ?? []
    const reasons = options.filter(({ label }) => labels.includes(label)).map(({ description }) => description)
    const rationale = reasons.filter(text => text !== '').join('; ') || `the words of ${by}`
    return { question, answer: labels.join(', '), rationale, by }
  })
}

/** A person's decision about a tool call. Decisions of the policy are not kept, because the policy decides the same way again. */
function permissionDecision(body: EventBody<'permission.decided'>): KeyDecision[] {
  const { tool, target, verdict, risk, reason, by } = body
  if (by !== 'human' && by !== 'precedent') return []
  return [{ question: describeQuestion(tool, target, risk), answer: ANSWERS[verdict], rationale: reason, by }]
}

/** A person's later decision about a call that nobody could be asked about. An answer to a question has its own event. */
function escalationDecision(body: EventBody<'escalation.answered'>): KeyDecision[] {
  const { tool, target, verdict, risk, reason, by } = body
  if (verdict === undefined || tool === 'AskUserQuestion') return []
  const rationale = reason ?? `the decision of ${by}`
  return [{ question: describeQuestion(tool, target, risk), answer: ANSWERS[verdict], rationale, by }]
}

const ANSWERS = { allow: 'allowed', deny: 'denied' } as const

function describeQuestion(tool: string, target: string, risk: string): string {
  return `May it run (${risk} risk): ${tool}${target === '' ? '' : ` ${target}`}`
}
