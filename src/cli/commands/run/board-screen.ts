import { neutral } from '../../../base/neutral.ts'
import type { GuidedTask, RunDetail } from '../../../domain/run.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { followRun } from '../../live/follow.ts'
import { loadInk } from '../../live/terminal.ts'
import { openBoardStore, type PerformedAction } from './board.ts'

interface BoardScreen {
  client: DaemonConnection
  context: CommandContext
}

/**
 * Shows the board of a run on this terminal until the run has ended, and returns the run; `undefined` when the person left first. The
 * person may go to the inbox and come back.
 */
export async function showBoard(run: RunDetail, screen: BoardScreen): Promise<RunDetail | undefined> {
  for (let current = run; ; ) {
    const shown = await showBoardOnce(current, screen)
    if (shown !== 'inbox') return shown
    const { runInbox } = await import('../inbox/screen.ts')
    await runInbox({ ...screen.context, out: () => undefined })
    current = await screen.client.request<RunDetail>('GET', `/runs/${run.id}`)
  }
}

async function showBoardOnce(
  run: RunDetail,
  { client, context }: BoardScreen,
): Promise<RunDetail | 'inbox' | undefined> {
  const ink = await loadInk()
  const [{ createElement }, { BoardView }] = await Promise.all([import('react'), import('./board-view.ts')])
  const left = new AbortController()
  let wantsInbox = false
  const store = openBoardStore(run, {
    leave: () => left.abort(),
    answer: () => {
      wantsInbox = true
      left.abort()
    },
    perform: action => performAction(action, run.id, client),
  })
  const app = ink.render(createElement(BoardView, { ink, store, env: context.env }), {
    alternateScreen: true,
    interactive: true,
    exitOnCtrlC: false,
  })
  const leave = () => left.abort()
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, leave)
  try {
    const followed = await followRun({
      client,
      run: run.id,
      signal: left.signal,
      detailed: true,
      show: store.show,
      onLost: store.showOffline,
    })
    return wantsInbox ? 'inbox' : followed
  } finally {
    for (const signal of signals) process.off(signal, leave)
    app.unmount()
    await app.waitUntilExit()
  }
}

async function performAction(action: PerformedAction, run: string, client: DaemonConnection): Promise<string> {
  if (action.do === 'stop') {
    await client.request('POST', `/runs/${run}/stop`, { now: action.now })
    return action.now ? 'Stopped: tasks that were at work are ready again' : 'The run ends after the tasks at work'
  }
  const path = `/tasks/${action.task}/guidance`
  const { id, title, told } = await client.request<GuidedTask>('POST', path, { text: action.text })
  return `Added to ${id} ${neutral(title)}${told ? ', and its agent was told' : '; its agent reads it at its next start'}`
}
