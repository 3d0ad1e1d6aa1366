import { acpDriver } from '../../src/agents/acp/driver.ts'
import { prepareCommand } from '../../src/agents/acp/start-command.ts'
import { geminiAgent } from '../../src/domain/agents/gemini.ts'
import { GEMINI_MODEL, geminiEnv } from '../../test/agents/programs/gemini.ts'
import { program } from '../../test/agents/programs/programs.ts'
import { barePipe } from './bare-pipe.ts'
import { type Pair, PROMPT } from './pair.ts'

const executable = program('gemini')

export const gemini: Pair = {
  name: 'Gemini CLI',
  program: executable,
  call: { run_shell_command: { command: 'touch made' } },
  env: geminiEnv,
  model: GEMINI_MODEL,
  driver: () => acpDriver(geminiAgent, { executable }),
  async bare(open) {
    const { dispose, ...started } = await prepareCommand(geminiAgent, { open, program: [executable] })
    const pipe = barePipe({
      ...started,
      cwd: open.cwd,
      answer(method, params) {
        if (method !== 'session/request_permission') return undefined
        const options = params['options'] as { kind: string; optionId: string }[]
        const once = options.find(({ kind }) => kind === 'allow_once')
        return { outcome: { outcome: 'selected', optionId: once?.optionId } }
      },
    })
    await pipe.ask('initialize', { protocolVersion: 1, clientCapabilities: {} })
    const { sessionId } = await pipe.ask('session/new', { cwd: open.cwd, mcpServers: [] })
    const prompt = [{ type: 'text', text: PROMPT }]
    return {
      turn: async () => void (await pipe.ask('session/prompt', { sessionId, prompt })),
      async [Symbol.asyncDispose]() {
        pipe.end()
        await dispose()
      },
    }
  },
}
