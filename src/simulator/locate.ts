import { matches, unmet } from './conditions.ts'
import type { Condition } from './scenario/condition-schema.ts'
import { type Conversation, type Scenario, saysSomething, type Turn } from './scenario/schema.ts'
import { type Dialogue, type Entry, firstPrompt } from './wire/dialogue.ts'

/** The place of a scenario that a request has come to. `place` names it in logs and errors: `greeting.turns[2]`. */
export interface Step {
  conversation: string
  place: string
  turn: Turn
}

export type Located =
  | { found: 'step'; step: Step }
  | { found: 'unmatched'; problem: string }
  | { found: 'exhausted'; conversation: string; problem: string }

/**
 * Finds the turn that a request asks for, from the request alone.
 *
 * The script is replayed over the replies that the request already holds: each reply uses up one turn, a turn whose `when`
 * did not hold at that point is passed over, and so is a bare fault, because a fault leaves no reply behind. `isOver` says
 * of a fault that stands at the current point whether it has ended.
 */
export function locate(scenario: Scenario, dialogue: Dialogue, isOver: (step: Step) => boolean): Located {
  const prompt = firstPrompt(dialogue)
  const at = scenario.conversations.findIndex(({ match }) => matches(match, prompt, dialogue))
  const conversation = scenario.conversations[at]
  if (!conversation) return { found: 'unmatched', problem: unmatched(scenario, prompt) }
  const name = conversation.name ?? `conversations[${at}]`
  const script = scriptFor(conversation, dialogue)
  const step = replay(script, { name, dialogue, isOver }) ?? fallback(conversation, name)
  if (step) return { found: 'step', step }
  const problem = `The turns of conversation "${name}" have run out after ${script.replies.length} replies. Add turns or "otherwise".`
  return { found: 'exhausted', conversation: name, problem }
}

interface Script {
  turns: Turn[]
  path: string
  /** Where in the entries each reply of this script stands. */
  replies: number[]
}

/** The main turns, or those of the latest prompt that starts a script of its own. */
function scriptFor(conversation: Conversation, dialogue: Dialogue): Script {
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

function repliesAfter(entries: Entry[], start: number): number[] {
  return entries.flatMap((entry, at) => (at > start && entry.kind === 'reply' ? [at] : []))
}

interface Replay {
  name: string
  dialogue: Dialogue
  isOver: (step: Step) => boolean
}

function replay(script: Script, { name, dialogue, isOver }: Replay): Step | undefined {
  const { entries } = dialogue
  let done = 0
  const soFar = () => entries.slice(0, script.replies[done] ?? entries.length)
  const course = { holds: (condition: Condition) => unmet(condition, dialogue, soFar()).length === 0, done: () => done }
  for (const { turn, path } of walk(script.turns, script.path, course)) {
    const step = { conversation: name, place: `${name}.${path}`, turn }
    const now = done === script.replies.length
    if (now && turn.fault && !isOver(step)) return step
    if (!saysSomething(turn)) continue
    if (now) return { ...step, turn: { ...turn, fault: undefined } }
    done++
  }
  return undefined
}

interface Course {
  holds: (condition: Condition) => boolean
  /** How many replies were used up so far. */
  done: () => number
}

/** The turns in the order they are taken; conditions are asked at the moment the walk comes to them. */
function* walk(turns: Turn[], path: string, course: Course): Generator<{ turn: Turn; path: string }> {
  for (const [at, turn] of turns.entries()) {
    const here = `${path}[${at}]`
    for (let round = 0; round < (turn.repeat ?? 1); round++) {
      const before = course.done()
      if (turn.when && !course.holds(turn.when)) break
      if (turn.turns) yield* walk(turn.turns, `${here}.turns`, course)
      else if (turn.either) yield* walkBranch(turn.either, `${here}.either`, course)
      else yield { turn, path: here }
      // A round that used up no reply would only be the same again.
      if (course.done() === before) break
    }
  }
}

function* walkBranch(branches: Turn[], path: string, course: Course): Generator<{ turn: Turn; path: string }> {
  const at = branches.findIndex(branch => !branch.when || course.holds(branch.when))
  const branch = branches[at]
  if (!branch) return
  for (const found of walk([{ ...branch, when: undefined }], path, course)) {
    yield { ...found, path: found.path.replace(`${path}[0]`, `${path}[${at}]`) }
  }
}

function fallback(conversation: Conversation, name: string): Step | undefined {
  if (!conversation.otherwise) return undefined
  return { conversation: name, place: `${name}.otherwise`, turn: conversation.otherwise }
}

function unmatched(scenario: Scenario, prompt: string): string {
  const known = scenario.conversations.map(({ match }) => match?.contains ?? `/${match?.regex ?? '…'}/`)
  const start = prompt.length > 120 ? `${prompt.slice(0, 120)}…` : prompt
  return `No conversation of the scenario matches the prompt "${start}". It knows: ${known.map(one => `"${one}"`).join(', ')}.`
}
