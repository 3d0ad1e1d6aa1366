import { createHash } from 'node:crypto'
import type { Request, SessionEvent, Verdict } from '../../domain/session.ts'
import type { GuardSettings } from '../session/settings.ts'
import { callShape, RepetitionDetector, resultShape, SLOW_MS } from './repetition.ts'

/** What the breakers make of an event. */
export type BreakerFinding =
  | { guard: 'repetition'; did: 'told' | 'paused'; reason: string }
  | { guard: 'progress'; reason: string }

interface Call {
  tool: string
  input: Record<string, unknown>
  shape: string
  since: number
  /** A subagent goes in circles of its own. */
  agent: string
}

/** Enough to know what an agent has looked at before; a session of days must not grow for it. */
const REMEMBERED = 1_000

const NOTHING_YET: ProgressRound = { changed: false, fresh: false, waited: false }

/** Tools that change a file. */
const EDITORS = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
const TEST_COMMAND = /\b(test|tests|spec|pytest|jest|vitest|mocha|tox|check|verify)\b/i

/** Follows the calls of one agent, and of those it sent, through both breakers. */
export class Breakers {
  readonly #settings: GuardSettings
  readonly #circles = new Map<string, RepetitionDetector>()
  readonly #progress: ProgressDetector
  readonly #calls = new Map<string, Call>()
  /** What was seen before: of an edit that it was made, of another call what it brought back last. */
  readonly #known = new Map<string, string>()
  /** Told to do something else with its next call of this kind. */
  readonly #toTell = new Map<string, { agent: string; reason: string }>()
  readonly #refused = new Set<string>()
  #plan = ''
  #round = { ...NOTHING_YET }
  #turns = 0

  constructor(settings: GuardSettings) {
    this.#settings = settings
    this.#progress = new ProgressDetector(settings.noProgressRounds)
  }

  /** Files changed that no call told of. */
  changed(): void {
    this.#progress.reset()
  }

  heard(event: SessionEvent, now: number): BreakerFinding[] {
    switch (event.kind) {
      case 'tool_request':
        this.#begin(event, now)
        return []
      case 'tool_result':
        return this.#end(event, now)
      case 'plan':
        return this.#planned(JSON.stringify(event.items))
      case 'usage':
        return event.turns === undefined || event.turns === this.#turns ? [] : this.#roundOver(event.turns)
      case 'turn_ended':
        this.#progress.reset()
        this.#turns = 0
        return []
      default:
        return []
    }
  }

  /** Refuses a call once, where the agent is to hear that it goes in circles. */
  verdict({ callId, tool, input, agentId = '' }: Request): Verdict | undefined {
    const told = this.#toTell.get(agentId)
    if (!told || !this.#circles.get(agentId)?.circlesThrough(digest(callShape(tool, input)))) return undefined
    this.#toTell.delete(agentId)
    this.#refused.add(callId)
    return { verdict: 'deny', risk: 'LOW', reason: told.reason, confidence: 1, by: 'guard' }
  }

  #begin({ callId, tool, input, agentId = '' }: Extract<SessionEvent, { kind: 'tool_request' }>, now: number): void {
    if (this.#calls.has(callId)) return
    this.#calls.set(callId, { tool, input, shape: digest(callShape(tool, input)), since: now, agent: agentId })
  }

  #end({ callId, ok, output }: Extract<SessionEvent, { kind: 'tool_result' }>, now: number): BreakerFinding[] {
    const call = this.#calls.get(callId)
    this.#calls.delete(callId)
    if (!call) return []
    if (now - call.since >= SLOW_MS) this.#round.waited = true
    // Our own word is no outcome of what it did: it would have been that of the last time.
    const ours = this.#refused.delete(callId) ? this.#known.get(keyOf(call)) : undefined
    const result = ours ?? digest(resultShape(output, call.input))
    const changed = ours === undefined && this.#look(call, ok, result)
    const circle = this.#circles.get(call.agent) ?? new RepetitionDetector(this.#settings.repeatedCalls)
    this.#circles.set(call.agent, circle)
    const tookMs = ours === undefined ? now - call.since : undefined
    const repeated = circle.done({ call: call.shape, result, tookMs, changed })
    if (repeated.verdict === 'fine') return []
    const what = repeated.calls === 1 ? 'made the same call' : `gone through the same ${repeated.calls} calls`
    const words = `It has ${what} ${repeated.times} times with the same outcome: ${titleOf(call)}`
    if (repeated.verdict === 'stop') return [{ guard: 'repetition', did: 'paused', reason: words }]
    this.#toTell.set(call.agent, { agent: call.agent, reason: `${words.replace('It has', 'You have')}. ${OTHERWISE}` })
    return [{ guard: 'repetition', did: 'told', reason: words }]
  }

  /** Keeps what a call brought; true where it changed a file in a new way. */
  #look(call: Call, ok: boolean, result: string): boolean {
    const { tool, input } = call
    const isEdit = EDITORS.has(tool)
    const key = keyOf(call)
    const before = this.#known.get(key)
    this.#remember(key, result)
    const isNew = before === undefined
    const changed = isEdit && ok && isNew
    const isTest = tool === 'Bash' && TEST_COMMAND.test(String(input['command'] ?? ''))
    if (changed || (isTest && !isNew && before !== result)) this.#round.changed = true
    if (isNew || before !== result) this.#round.fresh = true
    return changed
  }

  #remember(key: string, result: string): void {
    this.#known.delete(key)
    this.#known.set(key, result)
    if (this.#known.size <= REMEMBERED) return
    const [oldest] = this.#known.keys()
    if (oldest !== undefined) this.#known.delete(oldest)
  }

  #planned(plan: string): BreakerFinding[] {
    if (plan !== this.#plan) this.#round.changed = true
    this.#plan = plan
    return []
  }

  #roundOver(turns: number): BreakerFinding[] {
    const isFirst = this.#turns === 0
    this.#turns = turns
    const round = this.#round
    this.#round = { ...NOTHING_YET }
    if (isFirst || !this.#progress.round(round)) return []
    const reason = `It has changed no file, no plan and no outcome of a test in ${this.#progress.rounds} rounds`
    return [{ guard: 'progress', reason }]
  }
}

const OTHERWISE =
  'Do something else: look at what stands in the way, try another approach, or wait longer in one call. ' +
  'If you cannot get on, say what you need and end your turn.'

/** An edit is itself, and not its shape: two edits of numbers are two. */
function keyOf({ tool, input, shape }: Call): string {
  return EDITORS.has(tool) ? digest(`edit ${tool} ${JSON.stringify(input)}`) : shape
}

/** Texts are compared and not kept: a file that is written may be long. */
function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64url')
}

function titleOf({ tool, input }: Call): string {
  const text = ['command', 'file_path', 'pattern', 'url', 'query'].map(key => input[key]).find(Boolean)
  const line = String(text ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  return `${tool} ${line.length > 120 ? `${line.slice(0, 119)}…` : line}`.trim()
}

/** What one round with the model brought. */
interface ProgressRound {
  /** A file, the plan or the outcome of a test changed. */
  changed: boolean
  /** Something was looked at, or said, that was not known before. */
  fresh: boolean
  /** It waited inside of a call, for a build or between two looks. */
  waited: boolean
}

/** A round in which even what was looked at was known weighs as much as so many in which something new was read. */
const STALE_WEIGHT = 4

/** Sees an agent that works and gets nowhere: too many rounds without a change of a file, of the plan or of a test's outcome. */
export class ProgressDetector {
  readonly #most: number
  #weight = 0
  #rounds = 0
  #waited = false

  constructor(most: number) {
    this.#most = most
  }

  /** Rounds since the last change. */
  get rounds(): number {
    return this.#rounds
  }

  /** True where it is enough. */
  round({ changed, fresh, waited }: ProgressRound): boolean {
    // A look after a wait belongs to it: what it looks at takes its time, and nobody goes in circles.
    const isWait = waited || this.#waited
    this.#waited = waited
    if (changed) {
      this.reset()
      return false
    }
    this.#rounds += 1
    this.#weight += fresh || isWait ? 1 : STALE_WEIGHT
    return this.#weight >= this.#most
  }

  /** Something changed after all, or a new task began. */
  reset(): void {
    this.#weight = 0
    this.#rounds = 0
  }
}
