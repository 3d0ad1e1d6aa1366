import type { SessionView } from '../../domain/api.ts'
import type { Connection } from '../connection/connection.ts'
import type { Context } from '../context.ts'
import { goOn } from '../render/go-on.ts'
import { keysHint } from '../render/header.ts'
import type { Asked } from './asks.ts'
import { closingLines, exitOf } from './closing.ts'
import { isInteractive } from './interactive.ts'
import { openKeyboard } from './keyboard.ts'
import { openScreen } from './screen.ts'
import { terminalPerson } from './terminal-person.ts'
import { watchSession } from './watch.ts'

export interface View {
  client: Connection
  session: SessionView
  context: Context
  after: number
  open?: Asked[]
  resumesAt?: number | undefined
  stays?: boolean
  rests?: boolean
  env: Record<string, string>
}

/** Often enough that nobody who types is taken for absent, and not for every letter. */
const PRESENT_EVERY_MS = 500

/** Tells now and then that somebody is there. */
function presence(tell: () => Promise<unknown>): () => void {
  let told = 0
  return () => {
    if (Date.now() - told < PRESENT_EVERY_MS) return
    told = Date.now()
    tell().catch(() => undefined) // an older daemon, or one that is going: the answer itself tells what is wrong
  }
}

/** Left with Ctrl+C: the session is not done, so a script must not go on as if it were. */
const DETACHED = 130

/**
 * The live view at this terminal: Ctrl+C leaves it, Ctrl+D stops the session, asks are answered by keys. Where either end
 * is not a terminal the events are only shown and nobody counts as attached. Returns the exit code.
 */
export async function runView(view: View): Promise<number> {
  const { client, session, context, after, open, resumesAt, stays, rests, env } = view
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
    ? openKeyboard(process.stdin, {
        onInterrupt: () => leave.abort(),
        onEnd: stop,
        onKey: presence(() => client.request('POST', `/sessions/${session.id}/presence`, {})),
      })
    : undefined
  const onSignal = () => leave.abort()
  process.once('SIGINT', onSignal)
  if (interactive && !context.quiet) screen.print(keysHint(terminal))
  const ended = await watchSession({
    client,
    session,
    terminal,
    screen,
    verbose: context.verbose,
    quiet: context.quiet,
    after,
    env,
    resumesAt,
    stays,
    rests,
    ...(open && { open }),
    person: keyboard && terminalPerson(keyboard, screen, terminal),
    raw: json ? event => out(JSON.stringify(event)) : undefined,
    signal: leave.signal,
  })
  process.off('SIGINT', onSignal)
  const look = () => client.request<SessionView>('GET', `/sessions/${session.id}`)
  if (!ended) {
    const left = await look().catch(() => undefined) // the daemon may be gone; the session is as it was
    const [command] = left ? goOn(left, null) : []
    const words = command ? `stands still. Go on with: ${command}` : `goes on. Attach with: pcc attach ${session.id}`
    if (json) note(`Detached; session ${words}`)
    else out(`Detached; session ${words}`)
    return left && command ? exitOf(left) : DETACHED
  }
  const asked = look()
  if (context.quiet) screen.print(json ? [] : goOn(await asked).map(command => `Go on with: ${command}`))
  else if (!json) screen.print(await closingLines(client, asked, { id: session.id, terminal }))
  return exitOf(await asked)
}
