import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { scenarioTimeMs } from './faults.ts'
import {
  type Condition,
  hasAnswer,
  type Match,
  type Scenario,
  type ScriptedConversation,
  type ScriptedTurn,
} from './scenario.ts'
import { type Dialogue, type DialogueEntry, firstPrompt } from './wires/wire.ts'

/** The step of a scenario that a request has reached. `place` names it in logs and errors: `greeting.turns[2]`. */
export interface ScenarioStep {
  conversation: string
  place: string
  turn: ScriptedTurn
}

export type LocateResult =
  | { found: 'step'; step: ScenarioStep }
  | { found: 'unmatched'; problem: string }
  | { found: 'exhausted'; conversation: string; problem: string }

/**
 * Finds the scripted turn for a request, from the request alone.
 *
 * The script is replayed over the replies that the request already holds: each reply uses up one turn. A turn whose `when` did
 * not hold at that point is skipped, and so is a bare fault, because a fault leaves no reply. `isOver` says whether a fault at
 * the current point has ended.
 */
export function locate(scenario: Scenario, dialogue: Dialogue, isOver: (step: ScenarioStep) => boolean): LocateResult {
  const prompt = firstPrompt(dialogue)
  const at = scenario.conversations.findIndex(({ match }) => matches(match, prompt, dialogue))
  const conversation = scenario.conversations[at]
  if (!conversation) return { found: 'unmatched', problem: explainUnmatched(scenario, prompt) }
  const name = conversation.name ?? `conversations[${at}]`
  const script = findScript(conversation, dialogue)
  const step = replay(script, { name, dialogue, isOver }) ?? findFallback(conversation, name)
  if (step) return { found: 'step', step }
  const problem = `The turns of conversation "${name}" have run out after ${script.replies.length} replies. Add turns or "otherwise".`
  return { found: 'exhausted', conversation: name, problem }
}

interface Script {
  turns: ScriptedTurn[]
  path: string
  /** The index of each reply of this script in the entries. */
  replies: number[]
}

/** The main turns, or those of the latest prompt that starts a script of its own. */
function findScript(conversation: ScriptedConversation, dialogue: Dialogue): Script {
  const { entries } = dialogue
  const first = entries.findIndex(entry => entry.kind === 'prompt')
  for (let at = entries.length - 1; at > first; at--) {
    const entry = entries[at]
    if (entry?.kind !== 'prompt') continue
    const index = (conversation.later ?? []).findIndex(({ match }) => matches(match, entry.text, dialogue))
    const section = conversation.later?.[index]
    if (section) return { turns: section.turns, path: `later[${index}].turns`, replies: repliesAfter(entries, at) }
  }
  return { turns: conversation.turns, path: 'turns', replies: repliesAfter(entries, -1) }
}

function repliesAfter(entries: DialogueEntry[], start: number): number[] {
  return entries.flatMap((entry, at) => (at > start && entry.kind === 'reply' ? [at] : []))
}

interface Replay {
  name: string
  dialogue: Dialogue
  isOver: (step: ScenarioStep) => boolean
}

function replay(script: Script, { name, dialogue, isOver }: Replay): ScenarioStep | undefined {
  const { entries } = dialogue
  let done = 0
  const soFar = () => entries.slice(0, script.replies[done] ?? entries.length)
  const course = {
    holds: (condition: Condition) => unmetKeys(condition, dialogue, soFar()).length === 0,
    done: () => done,
  }
  for (const { turn, path } of walk(script.turns, script.path, course)) {
    const step = { conversation: name, place: `${name}.${path}`, turn }
    const now = done === script.replies.length
    if (now && turn.fault && !isOver(step)) return step
    if (!hasAnswer(turn)) continue
    if (now) return { ...step, turn: { ...turn, fault: undefined } }
    done++
  }
  return undefined
}

interface Course {
  holds: (condition: Condition) => boolean
  /** How many replies are used up so far. */
  done: () => number
}

/** The turns in order; a condition is evaluated when the walk reaches it. */
function* walk(turns: ScriptedTurn[], path: string, course: Course): Generator<{ turn: ScriptedTurn; path: string }> {
  for (const [at, turn] of turns.entries()) {
    const here = `${path}[${at}]`
    for (let round = 0; round < (turn.repeat ?? 1); round++) {
      const before = course.done()
      if (turn.when && !course.holds(turn.when)) break
      if (turn.turns) yield* walk(turn.turns, `${here}.turns`, course)
      else if (turn.either) yield* walkBranch(turn.either, `${here}.either`, course)
      else yield { turn, path: here }
      // A round that used up no reply would only repeat itself.
      if (course.done() === before) break
    }
  }
}

function* walkBranch(
  branches: ScriptedTurn[],
  path: string,
  course: Course,
): Generator<{ turn: ScriptedTurn; path: string }> {
  const at = branches.findIndex(branch => !branch.when || course.holds(branch.when))
  const branch = branches[at]
  if (!branch) return
  for (const step of walk([{ ...branch, when: undefined }], path, course)) {
    yield { ...step, path: step.path.replace(`${path}[0]`, `${path}[${at}]`) }
  }
}

function findFallback(conversation: ScriptedConversation, name: string): ScenarioStep | undefined {
  if (!conversation.otherwise) return undefined
  return { conversation: name, place: `${name}.otherwise`, turn: conversation.otherwise }
}

function explainUnmatched(scenario: Scenario, prompt: string): string {
  const known = scenario.conversations.map(({ match }) => match?.contains ?? `/${match?.regex ?? '…'}/`)
  const start = prompt.length > 120 ? `${prompt.slice(0, 120)}…` : prompt
  return `No conversation of the scenario matches the prompt "${start}". It knows: ${known.map(pattern => `"${pattern}"`).join(', ')}.`
}

/** Whether a prompt satisfies a `match`; without a `match` every prompt does. */
function matches(match: Match | undefined, prompt: string, dialogue: Dialogue): boolean {
  if (!match) return true
  if (match.contains !== undefined && !prompt.includes(match.contains)) return false
  if (match.regex !== undefined && !new RegExp(match.regex).test(prompt)) return false
  if (match.system_contains !== undefined && !dialogue.system.includes(match.system_contains)) return false
  return match.model === undefined || dialogue.model.includes(match.model)
}

/** The keys of a condition that do not hold for a dialogue up to `entries`. */
export function unmetKeys(condition: Condition, dialogue: Dialogue, entries: readonly DialogueEntry[]): string[] {
  const prompt = entries.findLast(entry => entry.kind === 'prompt')?.text ?? ''
  const fresh = entries.slice(entries.findLastIndex(entry => entry.kind === 'reply') + 1)
  const results = fresh.filter(entry => entry.kind === 'tool_result')
  const result = results.map(entry => entry.text).join('\n')
  const notes = [dialogue.system, ...entries.filter(entry => entry.kind === 'note').map(entry => entry.text)].join('\n')
  const checks: Record<keyof Condition, () => boolean> = {
    prompt_contains: () => prompt.includes(condition.prompt_contains ?? ''),
    prompt_regex: () => new RegExp(condition.prompt_regex ?? '').test(prompt),
    tool_result_contains: () => results.length > 0 && result.includes(condition.tool_result_contains ?? ''),
    tool_result_regex: () => results.length > 0 && new RegExp(condition.tool_result_regex ?? '').test(result),
    tool_failed: () => results.length > 0 && results.some(entry => entry.failed) === condition.tool_failed,
    note_contains: () => notes.includes(condition.note_contains ?? ''),
    system_contains: () => dialogue.system.includes(condition.system_contains ?? ''),
    offers_tool: () => dialogue.tools.includes(condition.offers_tool ?? ''),
    history_contains: () => entries.some(entry => entry.text.includes(condition.history_contains ?? '')),
    not: () => unmetKeys(condition.not ?? {}, dialogue, entries).length > 0,
  }
  const given = Object.keys(condition) as (keyof Condition)[]
  return given.filter(key => condition[key] !== undefined && !checks[key]())
}

/** Decides when faults end. */
export interface FaultEndings {
  isOver(step: ScenarioStep, session: string): boolean
  /** Counts that the fault was shown. */
  shown(step: ScenarioStep, session: string): void
}

/**
 * `until` with a date and `until_file` need no memory. `times` is counted here, for each session and place, and a relative
 * `until` counts from the start: a restart of the simulator resets these two.
 */
export function faultEndings({ clock, dir }: { clock: Clock; dir: string }): FaultEndings {
  const started = clock.now()
  const counts = new Map<string, number>()
  const keyOf = (step: ScenarioStep, session: string) => `${session} ${step.place}`
  return {
    isOver(step, session) {
      const { fault } = step.turn
      if (!fault) return true
      const until = fault.until === undefined ? undefined : scenarioTimeMs(fault.until, started)
      if (until !== undefined && clock.now() >= until) return true
      if (fault.until_file !== undefined && existsSync(inDir(dir, fault.until_file))) return true
      return fault.times !== undefined && (counts.get(keyOf(step, session)) ?? 0) >= fault.times
    },
    shown(step, session) {
      const key = keyOf(step, session)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
  }
}

function inDir(dir: string, file: string): string {
  return isAbsolute(file) ? file : resolve(dir, file)
}
