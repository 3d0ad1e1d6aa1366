import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tmuxSocket } from '../../../src/agents/tmux/tmux.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import type { SessionView, StartSession } from '../../../src/domain/api.ts'
import { type AgentSessions, agentSessions } from '../agent-sessions.ts'

export interface TerminalWorld extends AgentSessions {
  start(task: string, more?: Partial<StartSession>): Promise<SessionView>
  /** Runs a command of the daemon's tmux server. */
  tmux(...args: string[]): string
}

/** A daemon with agents in tmux. Cleanup ends the tmux server first, while its socket exists, whatever became of the daemon. */
export async function terminalWorld(t: TestContext, scenario: string): Promise<TerminalWorld> {
  const home = mkdtempSync(join(tmpdir(), 'pcc-test-'))
  const socket = tmuxSocket(appPathsFor({ env: { PCC_HOME: `${home}/pcc` } }).socket)
  const tmux = (...args: string[]) => execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8', stdio: 'pipe' })
  t.after(() => {
    try {
      tmux('kill-server')
    } catch {
      // The server has ended by itself with its last window.
    }
  })
  const world = await agentSessions(t, scenario, { home })
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))
  return { ...world, start: (task, more = {}) => world.start(task, { host: 'tmux', ...more }), tmux }
}
