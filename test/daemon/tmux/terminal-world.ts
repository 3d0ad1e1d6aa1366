import { execFileSync } from 'node:child_process'
import type { TestContext } from 'node:test'
import { tmuxSocket } from '../../../src/agents/tmux/window/socket.ts'
import type { SessionView, StartSession } from '../../../src/domain/api.ts'
import { type AgentSessions, agentSessions } from '../agent-sessions.ts'
import type { StartOptions } from '../daemon-process.ts'

export interface TerminalWorld extends AgentSessions {
  start(task: string, more?: Partial<StartSession>): Promise<SessionView>
  /** A word to the tmux server of this world's daemon. */
  tmux(...args: string[]): string
}

/** A daemon with agents in tmux; its server is ended with the test, whatever became of the daemon. */
export async function terminalWorld(
  t: TestContext,
  scenario: string,
  options: StartOptions = {},
): Promise<TerminalWorld> {
  const world = await agentSessions(t, scenario, options)
  const socket = tmuxSocket(world.daemon.places.socket)
  const tmux = (...args: string[]) => execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8', stdio: 'pipe' })
  t.after(() => {
    try {
      tmux('kill-server')
    } catch {
      // it goes by itself with its last window
    }
  })
  return { ...world, start: (task, more = {}) => world.start(task, { host: 'tmux', ...more }), tmux }
}
