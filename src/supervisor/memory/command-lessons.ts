import { wordsIn } from '../../base/words.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import type { CapturedRow } from '../../domain/hook-capture.ts'
import { runsCommands } from '../../policy/verdict/rules.ts'
import { findKnownFailure } from '../hooks/known-failures.ts'

/** A command that has ended, or a file that was written in between. */
export interface SeenStep {
  /** The same wherever it is read: in the event table, or before it got there. */
  key: string
  /** What it is known from: `event:17`, `hook:…`. */
  source: string
  time: number
  /** The subagent that did it. */
  by: string | undefined
  /** Undefined if a file was written. */
  command: string | undefined
  ok: boolean
  /** The code of a usual cause of the failure. The output itself is text from outside, and is read no further. */
  failure: string | undefined
  /** The same cause in our own words. */
  issue: string | undefined
}

/** What commands teach: one that failed and what worked instead, one that fails again and again, or a known one that was tried again. */
export type CommandLesson =
  | { kind: 'fix'; failed: SeenStep; worked: SeenStep }
  | { kind: 'dead_end'; failed: readonly SeenStep[] }
  | { kind: 'tried'; trigger: string; action: string; ok: boolean; step: SeenStep }
  | { kind: 'works_now'; known: DeadEnd; step: SeenStep }

/** A lesson that memory has already. */
export interface KnownFix {
  trigger: string
  action: string
}

/** What is known not to work: an anti-pattern of memory. */
export interface DeadEnd {
  trigger: string
  text: string
  instead: string | null
}

/** More text is a script and no command that anybody types. */
const LONGEST_COMMAND = 200
/** How many commands after a failure may be its fix. */
const MOST_BETWEEN = 6
/** Failures of these say something about the files and nothing about the command. */
const LOOKING =
  /^(grep|rg|ag|ls|cat|find|head|tail|test|\[|diff|cmp|which|type|command|stat|wc|git (diff|grep|log|show|status))\b/
/** Causes that another command can mend. Failing tests are mended by other code. */
const MENDED_BY_COMMAND =
  /^(program|script|module|file)\.missing$|^(access\.refused|port\.in_use|network\.none|memory\.full|time\.out)$/

/** The commands and written files among the events of one session, in order. Refused calls have not happened. */
export function readSteps(events: readonly StoredEvent[]): SeenStep[] {
  const refused = new Set(
    events.flatMap(({ kind, body }) => {
      return kind === 'permission.decided' && (body.verdict === 'deny' || body.risk === 'HIGH') ? [body.call_id] : []
    }),
  )
  return events.flatMap(event => {
    if (event.kind === 'hook.captured') return readCaptured(event, `event:${event.id}`)
    if (event.kind !== 'tool.finished' || refused.has(event.body.call_id)) return []
    const { tool, target, ok, output, agent_id: by } = event.body
    const source = `event:${event.id}`
    const about = { key: source, source, time: event.time, by, ok }
    if (WRITING_TOOLS.has(tool)) return [{ ...about, command: undefined, failure: undefined, issue: undefined }]
    return runsCommands(tool) && isPlain(target) ? [{ ...about, command: target, ...explain(tool, ok, output) }] : []
  })
}

/** The same for what a hook reported, which may not be in the event table yet. */
export function readCaptured(
  { body, ...row }: Pick<CapturedRow, 'body'> & { time?: number; at?: number },
  source = `hook:${body.id}`,
): SeenStep[] {
  const about = { key: `hook:${body.id}`, source, time: row.time ?? row.at ?? 0, by: body.subagent }
  if (body.type === 'file_edit' || body.type === 'file_write')
    return [{ ...about, ok: true, command: undefined, failure: undefined, issue: undefined }]
  if (body.type !== 'bash_output' || !isPlain(body.command)) return []
  const ok = body.exit_code === null ? body.stderr === '' : body.exit_code === 0
  return [{ ...about, ok, command: body.command, ...explain('Bash', ok, body.stderr, body.exit_code) }]
}

/** One line that was stored whole. */
function isPlain(command: string): boolean {
  return (
    command !== '' && command.length <= LONGEST_COMMAND && !/[\n\u23ce]|\u2026$/.test(command) && !LOOKING.test(command)
  )
}

function explain(tool: string, ok: boolean, output: string, exit_code?: number | null) {
  const known = ok ? undefined : findKnownFailure({ tool, output, exit_code: exit_code ?? undefined })
  return { failure: known?.code, issue: known?.issue }
}

/**
 * What the steps teach. `isNew` tells which steps were not looked at before: a lesson belongs to its last step. Pure.
 *
 * A command is the fix of an earlier one if both share a word, no file was written in between, and the failure is not one of the code
 * under work: then nothing but the command has changed.
 */
export function findLessons(
  steps: readonly SeenStep[],
  {
    isNew,
    known,
    deadEnds = [],
  }: { isNew(step: SeenStep): boolean; known: readonly KnownFix[]; deadEnds?: readonly DeadEnd[] },
): CommandLesson[] {
  const lessons: CommandLesson[] = []
  for (const [at, step] of steps.entries()) {
    if (step.command === undefined || !isNew(step)) continue
    const before = steps.slice(0, at).filter(({ by }) => by === step.by)
    const failed = step.ok ? findMended(step, before) : undefined
    if (failed) lessons.push({ kind: 'fix', failed, worked: step })
    else if (!step.ok && isAboutCommand(step)) {
      const same = before.filter(({ command, ok }) => command === step.command && !ok)
      if (same.length === 1) lessons.push({ kind: 'dead_end', failed: [...same, step] })
    }
    lessons.push(...tryKnown(step, known, failed))
    const wrong = step.ok ? deadEnds.filter(known => known.text.startsWith(failsHere(step.command ?? ''))) : []
    lessons.push(...wrong.map(known => ({ kind: 'works_now', known, step }) as const))
  }
  return lessons
}

/** How the text of a lesson about a command that fails begins. */
export function failsHere(command: string): string {
  return `\`${command}\` fails here`
}

function isAboutCommand({ failure }: SeenStep): boolean {
  return failure !== undefined && MENDED_BY_COMMAND.test(failure)
}

function findMended(worked: SeenStep, before: readonly SeenStep[]): SeenStep | undefined {
  const written = before.findLastIndex(({ command }) => command === undefined)
  const near = before.slice(written + 1).slice(-MOST_BETWEEN)
  if (near.some(({ command, ok }) => ok && command === worked.command)) return undefined
  return near.findLast(step => !step.ok && step.command !== worked.command && isMendedBy(step, worked, near))
}

function isMendedBy(failed: SeenStep, { command: works = '' }: SeenStep, near: readonly SeenStep[]): boolean {
  const { command = '', failure } = failed
  if (failure !== undefined && !MENDED_BY_COMMAND.test(failure)) return false
  // Something else may have mended it already.
  if (near.slice(near.indexOf(failed) + 1).some(({ command: other, ok }) => ok && shareWords(command, other ?? '')))
    return false
  return shareWords(command, works)
}

/** Flags and paths alone make no two commands alike. */
function shareWords(one: string, other: string): boolean {
  const [left, right] = [commandWords(one), commandWords(other)]
  const common = left.intersection(right).size
  return common > 0 && common / Math.min(left.size, right.size) >= 1 / 3
}

function commandWords(command: string): Set<string> {
  return new Set(wordsIn(command.replace(/(^|\s)-{1,2}[\w-]+/g, ' ')))
}

/** A known fix that works, or no longer does; and a command that was known to fail and works now, which ends the lesson. */
function tryKnown(step: SeenStep, known: readonly KnownFix[], mended: SeenStep | undefined): CommandLesson[] {
  return known.flatMap(({ trigger, action }): CommandLesson[] => {
    if (step.command === action && mended?.command !== trigger && (step.ok || isAboutCommand(step)))
      return [{ kind: 'tried', trigger, action, ok: step.ok, step }]
    return step.command === trigger && step.ok ? [{ kind: 'tried', trigger, action, ok: false, step }] : []
  })
}
