import type { OpenAsk, SessionView } from '../../domain/api.ts'
import type { Connection } from '../connection/connection.ts'
import type { Context } from '../context.ts'
import { keysHint } from '../render/header.ts'
import { closingLines, exitOf } from './closing.ts'
import { openKeyboard } from './keyboard.ts'
import { openScreen } from './screen.ts'
import { terminalPerson } from './terminal-person.ts'
import { watchSession } from './watch.ts'

export interface View {
  client: Connection
  session: SessionView
  context: Context
  after: number
  open?: { ask: OpenAsk; callId: string }[]
  env: Record<string, string>
}

/** Left with Ctrl+C: the session is not done, so a script must not go on as if it were. */
const DETACHED = 130

/**
 * The live view at this terminal: Ctrl+C leaves it, Ctrl+D stops the session, asks are answered by keys. Where either end
 * is not a terminal the events are only shown and nobody counts as attached. Returns the exit code.
 */
export async function runView({ client, session, context, after, open, env }: View): Promise<number> {
  const { terminal, json, out, note } = context
  const screen = openScreen(process.stdout)
  const leave = new AbortController()
  let stopping = false
  const stop = () => {
    if (stopping) return leave.abort()
    stopping = true
    screen.print(['Stopping the session...'])
    client
      .request('POST', `/sessions/${session.id}/stop`, {})
      .catch(error => screen.print([`Cannot stop it: ${error.message}`]))
  }
  const interactive = isInteractive(context)
  using keyboard = interactive
    ? openKeyboard(process.stdin, { onInterrupt: () => leave.abort(), onEnd: stop })
    : undefined
  const onSignal = () => leave.abort()
  process.once('SIGINT', onSignal)
  if (interactive) screen.print(keysHint(terminal))
  const ended = await watchSession({
    client,
    session,
    terminal,
    screen,
    verbose: context.verbose,
    after,
    env,
    ...(open && { open }),
    person: keyboard && terminalPerson(keyboard, screen),
    raw: json ? event => out(JSON.stringify(event)) : undefined,
    signal: leave.signal,
  })
  process.off('SIGINT', onSignal)
  if (!ended) {
    const words = `Detached; session goes on. Attach with: pcc attach ${session.id}`
    if (json) note(words)
    else out(words)
    return DETACHED
  }
  const now = await client.request<SessionView>('GET', `/sessions/${session.id}`)
  if (!json) screen.print(await closingLines(client, now, terminal))
  return exitOf(now)
}

/** Whether somebody sits at this terminal who can be asked. */
export function isInteractive({ json }: Pick<Context, 'json'>): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && !json
}
