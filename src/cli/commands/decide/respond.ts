import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { openClient } from '../../client.ts'
import { contextOf } from '../../context.ts'
import { answeredLines } from './answered-lines.ts'
import { refuseInSession } from './own-terminal.ts'
import type { ShownEscalation } from './pending-lines.ts'

interface RespondOptions {
  approve?: boolean
  deny?: boolean
  reason?: string
}

/** `pcc respond`: a person's word on what waits. */
export function addRespondCommand(program: Command): void {
  program
    .command('respond')
    .description('Answer what waits for your decision; see the numbers with: pcc pending')
    .argument('<number>', 'the number that pcc pending shows')
    .argument('[answer...]', 'to a question: words, or the number of an option; one for each part of it')
    .option('--approve', 'yes, it may run')
    .option('--deny', 'no; to a question: go on without an answer')
    .option('--reason <text>', 'why; the agent is told it with a no')
    .option('--json', 'print JSON')
    .action(async (number: string, words: string[], options: RespondOptions, command: Command) => {
      const answer = answerOf(words, options)
      if (!/^[1-9]\d{0,8}$/.test(number)) throw usage(`"${number}" is no number of a decision`)
      const { places, json, out, terminal, ...context } = await contextOf(command)
      refuseInSession(context.env, `respond ${number} …`)
      const client = await openClient(places, context)
      const asked = await client.request<ShownEscalation>('GET', `/escalations/${number}`)
      const body = {
        ...answer,
        ...(asked.state === 'open' && { env: await environmentFor(asked, places, context.env) }),
      }
      const answered = await client.request<Answered>('POST', `/escalations/${number}/answer`, body)
      if (json) return out(JSON.stringify(answered, null, 2))
      for (const line of answeredLines({ ...answered, wasOpen: asked.state === 'open' }, terminal.width)) out(line)
    })
}

interface Answered {
  escalation: ShownEscalation
  remembered: boolean
}

/** A parked session goes on in the environment of this shell, as it would from `pcc attach`. */
async function environmentFor(
  { project }: ShownEscalation,
  places: Parameters<typeof openClient>[0],
  env: Record<string, string | undefined>,
): Promise<Record<string, string>> {
  const { sessionEnvironment } = await import('../../session-env.ts')
  return sessionEnvironment({ places, env, project })
}

function answerOf(words: string[], { approve, deny, reason }: RespondOptions) {
  if (approve && deny) throw usage('--approve and --deny exclude one another')
  if (words.length > 0 && (approve || deny)) throw usage('give an answer, or --approve or --deny, not both')
  if (words.length === 0 && !approve && !deny) throw usage('say --approve or --deny, or give an answer to a question')
  const said = words.length > 0 ? { answer: words } : { verdict: approve ? ('allow' as const) : ('deny' as const) }
  return { ...said, ...(reason !== undefined && { reason }) }
}

function usage(problem: string): AppError {
  return new AppError('usage', { problem, command: 'respond' })
}
