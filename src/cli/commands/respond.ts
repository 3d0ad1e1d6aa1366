import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import type { EscalationView, TaskAfterAnswer } from '../../domain/escalation.ts'
import { openClient } from '../connection/client.ts'
import { type CommandContext, commandContext, isInteractive } from '../context.ts'
import { refuseInSession } from '../options.ts'
import { answeredLines, readMemoryDays } from './respond-lines.ts'

interface RespondOptions {
  approve?: boolean
  deny?: boolean
  again?: boolean
  reason?: string
  always?: boolean
  everywhere?: boolean
  interactive?: boolean
  yes?: boolean
}

/** `pcc respond`: a person answers what waits for a decision. */
export function addRespondCommand(program: Command): void {
  program
    .command('respond')
    .description('Answer what waits for your decision; see the numbers with: pcc pending')
    .argument('<number>', 'the number that pcc pending shows')
    .argument('[answer...]', 'to a question: words, or the number of an option; one for each part of it')
    .option('--approve', 'yes, it may run')
    .option('--again', 'yes to what was refused: allow exactly this once and do its task again')
    .option('--deny', 'no; to a question: go on without an answer')
    .option('--reason <text>', 'why; with --deny it is sent to the agent')
    .option('--always', 'write the narrowest rule for it, or remember the answer to a question for good')
    .option('--everywhere', 'with --always: remember the answer in every project')
    .option('--yes', 'with --always: do not ask before writing')
    .option('--interactive', 'show it in a box and answer by keys')
    .option('--json', 'print JSON')
    .action(async (number: string, words: string[], options: RespondOptions, command: Command) => {
      if (!/^[1-9]\d{0,8}$/.test(number)) throw usage(`"${number}" is no number of a decision`)
      const context = await commandContext(command)
      refuseInSession(context.env, `respond ${number} …`)
      // The board and the report name only the number: at a terminal that is enough.
      const asks = isInteractive(context) && saysNothing(words, options)
      const given = asks ? { ...options, interactive: true as const } : options
      checkOptions(words, given)
      await respond(number, { words, options: given }, context)
    })
}

interface Answered {
  escalation: EscalationView
  remembered: boolean
  task?: TaskAfterAnswer
}

async function respond(
  number: string,
  { words, options }: { words: string[]; options: RespondOptions },
  context: CommandContext,
): Promise<void> {
  const { paths, json, out, terminal } = context
  const client = await openClient(paths, context)
  const escalation = await client.request<EscalationView>('GET', `/escalations/${number}`)
  const isWaiting = escalation.state === 'open' || escalation.state === 'denied'
  // The daemon rejects an answer to an escalation that is answered or withdrawn, so the person is not asked first.
  const reply =
    options.interactive && isWaiting
      ? await (await import('./respond-interactive.ts')).answerByKeys(escalation, client, context)
      : readReply(words, options)
  const { everywhere = false, yes = false } = options
  const lasting =
    options.always && isWaiting
      ? await (await import('./respond-interactive.ts')).prepareLastingAnswer(
          { escalation, reply, everywhere, yes },
          context,
        )
      : {}
  const isYes = 'verdict' in reply && reply.verdict === 'allow'
  const again = options.again || (isYes && !options.always && (await wantsAgain(escalation, context)))
  const goesOn = escalation.state === 'open' || escalation.kind === 'permission'
  const env = goesOn ? { env: await environmentFor(escalation, context) } : {}
  const reason = options.reason === undefined ? {} : { reason: options.reason }
  const always = lasting.always === undefined ? {} : { always: lasting.always }
  const body = { ...reply, ...(again && { again: true }), ...reason, ...always, ...env }
  const answered = await client.request<Answered>('POST', `/escalations/${number}/answer`, body)
  const days = await readMemoryDays(escalation.project, context)
  const view = { ...answered, days, wasOpen: escalation.state === 'open', lasts: options.always === true }
  if (json) out(JSON.stringify(answered, null, 2))
  else for (const line of answeredLines(view, terminal.width)) out(line)
  await lasting.after?.()
}

/** Asks the person at this terminal whether the task of a refused request is to be done again with it. */
async function wantsAgain({ again, state }: EscalationView, context: CommandContext): Promise<boolean> {
  if (!again || state !== 'denied' || !isInteractive(context)) return false
  return (await import('../input.ts')).agrees('Allow exactly this once and do the task again?')
}

/** A parked session goes on in the environment of this shell, as it would from `pcc attach`. */
async function environmentFor(
  { project }: EscalationView,
  { paths, env }: CommandContext,
): Promise<Record<string, string>> {
  const { resumeEnvironment } = await import('../session-env.ts')
  return resumeEnvironment({ paths, env, project })
}

function checkOptions(words: string[], options: RespondOptions): void {
  const { approve, deny, always, everywhere, yes, interactive, again } = options
  if (again && (deny || always || interactive || words.length > 0))
    throw usage('--again says yes, once: give it alone or with --approve')
  if (approve && deny) throw usage('--approve and --deny exclude one another')
  if (words.length > 0 && (approve || deny)) throw usage('give an answer, or --approve or --deny, not both')
  if (interactive && (words.length > 0 || approve || deny)) throw usage('--interactive asks for the answer itself')
  if (!always && (everywhere || yes)) throw usage(`${everywhere ? '--everywhere' : '--yes'} belongs to --always`)
  if (saysNothing(words, options)) throw usage('say --approve or --deny, or give an answer to a question')
}

function saysNothing(words: string[], { approve, deny, interactive, again }: RespondOptions): boolean {
  return words.length === 0 && !approve && !deny && !interactive && !again
}

function readReply(words: string[], { approve, again }: RespondOptions) {
  if (words.length > 0) return { answer: words }
  return { verdict: approve || again ? ('allow' as const) : ('deny' as const) }
}

function usage(problem: string): AppError {
  return new AppError('usage', { problem, command: 'respond' })
}
