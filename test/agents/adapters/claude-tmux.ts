import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tmuxDriver } from '../../../src/agents/tmux/driver.ts'
import { tmuxSocket } from '../../../src/agents/tmux/tmux.ts'
import { claudeInTmux } from '../../../src/domain/agents/claude.ts'
import { bareEnv } from '../../support/world.ts'
import { claude } from '../claude-adapter.ts'
import type { Adapter } from '../conformance/adapter.ts'

/** The real interactive Claude Code in a tmux server of its own; its hooks come to the session's own socket. */
export const claudeTmux: Adapter = {
  ...claude,
  manifest: claudeInTmux,
  async openDriver(options = {}) {
    const run = mkdtempSync(join(tmpdir(), 'pcc-tmux-'))
    const socket = join(run, 'pcc.sock')
    const driver = tmuxDriver({ run, socket, env: bareEnv(run) }, options)
    return {
      ...driver,
      async close() {
        await driver.close()
        endServer(tmuxSocket(socket))
        rmSync(run, { recursive: true, force: true })
      },
    }
  },
}

function endServer(socket: string): void {
  try {
    execFileSync('tmux', ['-S', socket, 'kill-server'], { stdio: 'pipe' })
  } catch {
    // it went with its last window
  }
}
