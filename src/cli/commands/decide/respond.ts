import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { sessionMarker } from '../../../base/process/marker.ts'
import { shellWord } from '../../../base/shell-word.ts'
import { openClient } from '../../client.ts'
import { contextOf } from '../../context.ts'
import { neutral } from '../../render/text.ts'
import { type ShownEscalation, wholeLines } from './pending-lines.ts'

interface RespondOptions {
  approve?: boolean
  deny?: boolean
  reason?: string
}

interface Answered {
  escalation: ShownEscalation
  remembered: boolean
}

/** `pcc respond`: a person's word on what waits. */
export function addRespondCommand(program: Command): void {
  program
    .command('respond')
    .description('Answer what waits for your decision; see the numbers with: pcc pending')
    .argument('<number>', 'the number that pcc pending shows')
    .option('--approve', 'yes')
    .option('--deny', 'no')
    .option('--reason <text>', 'why, for who reads the log')
    .option('--json', 'print JSON')
    .action(async (number: string, options: RespondOptions, command: Command) => {
      const verdict = verdictOf(options)
      if (!/^[1-9]\d{0,8}$/.test(number)) throw usage(`"${number}" is no number of a decision`)
      const { places, json, out, terminal, ...context } = await contextOf(command)
      if (isAgents(context.env)) throw new AppError('agent_answers', { command: `respond ${number} --approve, or --deny` })
      const client = await openClient(places, context)
      const body = { verdict, ...(options.reason !== undefined && { reason: options.reason }) }
      const answered = await client.request<Answered>('POST', `/escalations/${number}/answer`, body)
      if (json) return out(JSON.stringify(answered, null, 2))
      for (const line of answerLines(answered, terminal.width)) out(line)
    })
}

/** The policy refuses agents every `pcc` they spell out; this is for the one that a script of theirs runs without knowing. */
function isAgents(env: Record<string, string | undefined>): boolean {
  return env[sessionMarker('').name] !== undefined
}

function verdictOf({ approve, deny }: RespondOptions): 'allow' | 'deny' {
  if (approve && deny) throw usage('--approve and --deny exclude one another')
  if (!approve && !deny) throw usage('say --approve or --deny')
  return approve ? 'allow' : 'deny'
}

function usage(problem: string): AppError {
  return new AppError('usage', { problem, command: 'respond' })
}

function answerLines({ escalation, remembered }: Answered, width: number): string[] {
  const { number, verdict, session_id } = escalation
  return [
    `${verdict === 'allow' ? 'Approved' : 'Denied'}: decision ${number} of session ${session_id}`,
    ...wholeLines(escalation, width),
    ...consequence(escalation, remembered),
  ]
}

/** What the answer changes, and what it does not. */
function consequence(escalation: ShownEscalation, remembered: boolean): string[] {
  const { verdict, project, risk } = escalation
  if (remembered) {
    const from = verdict === 'allow' ? 'is allowed from now on' : 'is refused from now on'
    return [`Remembered: the same request in ${neutral(project)} ${from}, without asking you.`]
  }
  if (verdict === 'deny') return ['It stays refused; this session does not list it again.']
  const why = risk === 'HIGH' ? 'HIGH requests are asked about every time' : 'the answer is for this one call alone'
  return [
    `Not remembered: ${why}. It was refused when the session asked, and will be the next time.`,
    ...ruleFor(escalation),
  ]
}

/** A rule opens a HIGH request only as that exact request, and only if it can be written on one line without wildcards. */
function ruleFor({ tool, normalised }: ShownEscalation): string[] {
  const exact = normalised.slice(tool.length + 1)
  const writable = exact !== '' && !/[*\p{Cc}\p{Cf}\u2028\u2029…]/u.test(exact)
  if (!writable) return ['No rule can allow exactly this; where you want it, do it yourself.']
  return [`To allow exactly this: pcc rules add allow ${shellWord(tool)} ${shellWord(exact)}`]
}
