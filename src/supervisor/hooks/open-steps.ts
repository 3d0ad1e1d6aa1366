import { isObject, parseJson } from '../../base/json.ts'
import type { HookEventOf } from '../../domain/hooks.ts'
import type { SessionNotes } from './session-notes.ts'

/** The tools with which agents keep their list of steps; others of a vendor are renamed to `TodoWrite`. */
export const STEP_TOOLS: ReadonlySet<string> = new Set(['TodoWrite', 'TaskCreate', 'TaskUpdate'])

/** More steps than anybody writes down, and more of a text than a report needs. */
const MOST_STEPS = 100
const LONGEST = 200

/**
 * Notes what a call did to the agent's list of steps. `TodoWrite` gives the whole list each time, under the names of each vendor; the
 * `Task…` tools of Claude Code change one step. What is not understood changes nothing.
 */
export function noteSteps(
  notes: Pick<SessionNotes, 'steps'>,
  { tool, input, output }: HookEventOf<'tool_after'>,
): void {
  if (tool === 'TodoWrite') {
    const list = input['todos'] ?? input['plan']
    if (Array.isArray(list)) notes.steps = Object.fromEntries(list.slice(0, MOST_STEPS).flatMap(readStep))
    return
  }
  const created = tool === 'TaskCreate' ? parseJson(output) : undefined
  const task = isObject(created) && isObject(created['task']) ? created['task'] : undefined
  const id = task?.['id'] ?? input['taskId']
  if (typeof id !== 'string') return
  const subject = task?.['subject'] ?? input['subject'] ?? notes.steps[id]?.text ?? `step ${id}`
  notes.steps[id] = { text: String(subject).slice(0, LONGEST), open: isOpen(input['status'] ?? 'pending') }
  for (const oldest of Object.keys(notes.steps).slice(0, -MOST_STEPS)) delete notes.steps[oldest]
}

function readStep(step: unknown, index: number): [string, { text: string; open: boolean }][] {
  if (!isObject(step)) return []
  const text = [step['content'], step['step'], step['description'], step['title']].find(
    each => typeof each === 'string',
  )
  return text === undefined
    ? []
    : [[String(index), { text: String(text).slice(0, LONGEST), open: isOpen(step['status']) }]]
}

function isOpen(status: unknown): boolean {
  return status === 'pending' || status === 'in_progress'
}
