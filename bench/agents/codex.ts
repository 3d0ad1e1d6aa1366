import { codexDriver } from '../../src/agents/codex/driver.ts'
import { prepareHome } from '../../src/agents/codex/open-thread.ts'
import { flagsFor, POLICY } from '../../src/agents/codex/policy.ts'
import { codexEnv } from '../../test/agents/programs/codex.ts'
import { program } from '../../test/agents/programs/programs.ts'
import { barePipe } from './bare-pipe.ts'
import { type Pair, PROMPT } from './pair.ts'

const executable = program('codex')

/** Uses the settings of our driver, so that only the driver is compared. */
export const codex: Pair = {
  name: 'Codex',
  program: executable,
  call: { exec_command: { cmd: 'touch made' } },
  env: codexEnv,
  driver: () => codexDriver({ executable }),
  async bare({ cwd, env }) {
    const home = await prepareHome(env, { user: false, project: '/' })
    let over = Promise.withResolvers<void>()
    const pipe = barePipe({
      ...{
        command: executable,
        args: ['app-server', ...flagsFor({ cwd, home: home.own, readsProject: false, temp: cwd })],
      },
      ...{ cwd, env: { ...env, CODEX_HOME: home.given } },
      answer: method => (method.endsWith('/requestApproval') ? { decision: 'accept' } : undefined),
      told: method => method === 'turn/completed' && over.resolve(),
    })
    await pipe.ask('initialize', {
      clientInfo: { name: 'bench', title: 'bench', version: '1' },
      capabilities: { experimentalApi: true, requestAttestation: false },
    })
    pipe.tell('initialized')
    const opened = await pipe.ask('thread/start', { cwd, sandbox: 'workspace-write', ...POLICY })
    const threadId = (opened['thread'] as { id: string }).id
    const input = [{ type: 'text', text: PROMPT, text_elements: [] }]
    return {
      async turn() {
        over = Promise.withResolvers<void>()
        await pipe.ask('turn/start', { threadId, input, ...POLICY })
        await over.promise
      },
      [Symbol.asyncDispose]: async () => pipe.end(),
    }
  },
}
