import { createHash } from 'node:crypto'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import type { Request, SessionEvent, Verdict } from '../../domain/session.ts'
import type { GuardSettings } from '../session/settings.ts'
import { callShape, RepetitionDetector, resultShape, SLOW_MS } from './repetition.ts'

/** What the breakers find in an event. */
export type BreakerFinding =
  | { guard: 'repetition'; did: 'told' | 'paused'; reason: string }
  | { guard: 'progress'; reason: string }

interface Call {
  tool: string
  input: Record<string, unknown>
  shape: string
  since: number
  /** The subagent that made the call: its repetitions are counted apart. */
  agent: string
}

/** Enough results to recognise what an agent has read before, and bounded for sessions that last for days. */
const MAX_RESULTS = 1_000

const EMPTY_ROUND: ProgressRound = { changed: false, fresh: false, waited: false }

const TEST_COMMAND = /\b(test|tests|spec|pytest|jest|vitest|mocha|tox|check|verify)\b/i

/** Passes the calls of one agent and of its subagents to both breakers. */
export class Breakers {
  readonly #settings: GuardSettings
  readonly #repetitions = new Map<string, RepetitionDetector>()
  readonly #progress: ProgressDetector
  readonly #calls = new Map<string, Call>()
  /** The last result of each call that was seen before; an edit is remembered by its input, any other call by its shape. */
  readonly #results = new Map<string, string>()
  /** Agents whose next repeated call is refused, with the reason that they are given. */
  readonly #pendingRefusals = new Map<string, { agent: string; reason: string }>()
  readonly #refusedCalls = new Set<string>()
  #plan = ''
  #round = { ...EMPTY_ROUND }
  #turns = 0

  constructor(settings: GuardSettings) {
    this.#settings = settings
    this.#progress = new ProgressDetector(settings.noProgressRounds)
  }

  /** Files changed that no call reported. */
  changed(): void {
    this.#progress.reset()
  }

  observe(event: SessionEvent, now: number): BreakerFinding[] {
    switch (event.kind) {
      case 'tool_request':
        this.#begin(event, now)
        return []
      case 'tool_result':
        return this.#end(event, now)
      case 'plan':
        return this.#updatePlan(JSON.stringify(event.items))
      case 'usage':
        return event.turns === undefined || event.turns === this.#turns ? [] : this.#endRound(event.turns)
      case 'turn_ended':
        this.#progress.reset()
        this.#turns = 0
        return []
      default:
        return []
    }
  }

  /** Refuses a call once, to tell the agent that it goes in circles. */
  verdict({ callId, tool, input, agentId = '' }: Request): Verdict | undefined {
    const pending = this.#pendingRefusals.get(agentId)
    if (!pending || !this.#repetitions.get(agentId)?.circlesThrough(digest(callShape(tool, input)))) return undefined
    this.#pendingRefusals.delete(agentId)
    this.#refusedCalls.add(callId)
    return { verdict: 'deny', risk: 'LOW', reason: pending.reason, confidence: 1, by: 'guard' }
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
    // The text of our own refusal is not a result of the call: the call counts with its last result.
    const lastResult = this.#refusedCalls.delete(callId) ? this.#results.get(resultKey(call)) : undefined
    const result = lastResult ?? digest(resultShape(output, call.input))
    const changed = lastResult === undefined && this.#noteResult(call, ok, result)
    const detector = this.#repetitions.get(call.agent) ?? new RepetitionDetector(this.#settings.repeatedCalls)
    this.#repetitions.set(call.agent, detector)
    const tookMs = lastResult === undefined ? now - call.since : undefined
    const repetition = detector.record({ call: call.shape, result, tookMs, changed })
    if (repetition.verdict === 'fine') return []
    const what = repetition.calls === 1 ? 'made the same call' : `gone through the same ${repetition.calls} calls`
    const reason = `It has ${what} ${repetition.times} times with the same outcome: ${describeCall(call)}`
    if (repetition.verdict === 'stop') return [{ guard: 'repetition', did: 'paused', reason }]
    this.#pendingRefusals.set(call.agent, {
      agent: call.agent,
      reason: `${reason.replace('It has', 'You have')}. ${ADVICE}`,
    })
    return [{ guard: 'repetition', did: 'told', reason }]
  }

  /** Remembers the result of a call; true if the call changed a file in a new way. */
  #noteResult(call: Call, ok: boolean, result: string): boolean {
    const { tool, input } = call
    const isEdit = WRITING_TOOLS.has(tool)
    const key = resultKey(call)
    const before = this.#results.get(key)
    this.#remember(key, result)
    const isNew = before === undefined
    const changed = isEdit && ok && isNew
    const isTest = tool === 'Bash' && TEST_COMMAND.test(String(input['command'] ?? ''))
    if (changed || (isTest && !isNew && before !== result)) this.#round.changed = true
    if (isNew || before !== result) this.#round.fresh = true
    return changed
  }

  #remember(key: string, result: string): void {
    this.#results.delete(key)
    this.#results.set(key, result)
    if (this.#results.size <= MAX_RESULTS) return
    const [oldest] = this.#results.keys()
    if (oldest !== undefined) this.#results.delete(oldest)
  }

  #updatePlan(plan: string): BreakerFinding[] {
    if (plan !== this.#plan) this.#round.changed = true
    this.#plan = plan
    return []
  }

  #endRound(turns: number): BreakerFinding[] {
    const isFirst = this.#turns === 0
    this.#turns = turns
    const round = this.#round
    this.#round = { ...EMPTY_ROUND }
    if (isFirst || !this.#progress.round(round)) return []
    const reason = `It has changed no file, no plan and no outcome of a test in ${this.#progress.rounds} rounds`
    return [{ guard: 'progress', reason }]
  }
}

const ADVICE =
  'Do something else: look at what stands in the way, try another approach, or wait longer in one call. ' +
  'If you cannot get on, say what you need and end your turn.'

/** An edit is identified by its whole input, not by its shape: two edits that differ in a number are different. */
function resultKey({ tool, input, shape }: Call): string {
  return WRITING_TOOLS.has(tool) ? digest(`edit ${tool} ${JSON.stringify(input)}`) : shape
}

/** Texts are compared by their digest: a file that is written may be long. */
function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64url')
}

function describeCall({ tool, input }: Call): string {
  const text = ['command', 'file_path', 'pattern', 'url', 'query'].map(key => input[key]).find(Boolean)
  const line = String(text ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  return `${tool} ${line.length > 120 ? `${line.slice(0, 119)}…` : line}`.trim()
}

/** What happened in one round with the model. */
interface ProgressRound {
  /** A file, the plan or the outcome of a test changed. */
  changed: boolean
  /** A call was made for the first time, or had a new result. */
  fresh: boolean
  /** The agent waited inside a call, for a build or between two polls. */
  waited: boolean
}

/** A round that read nothing new weighs as much as this many rounds that did. */
const STALE_WEIGHT = 4

/** Detects an agent that works and gets nowhere: too many rounds without a change of a file, of the plan or of a test's outcome. */
export class ProgressDetector {
  readonly #maxWeight: number
  #weight = 0
  #rounds = 0
  #waited = false

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight
  }

  /** Rounds since the last change. */
  get rounds(): number {
    return this.#rounds
  }

  /** Counts a round; true if the agent should be stopped. */
  round({ changed, fresh, waited }: ProgressRound): boolean {
    // A read right after a wait counts as waiting: the agent polls something that takes its time.
    const isWait = waited || this.#waited
    this.#waited = waited
    if (changed) {
      this.reset()
      return false
    }
    this.#rounds += 1
    this.#weight += fresh || isWait ? 1 : STALE_WEIGHT
    return this.#weight >= this.#maxWeight
  }

  /** A change was found elsewhere, or a new task began. */
  reset(): void {
    this.#weight = 0
    this.#rounds = 0
  }
}
