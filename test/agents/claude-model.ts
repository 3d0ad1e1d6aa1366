import { type Dialect, simulatedModel } from './conformance/model.ts'
import type { Model, Script } from './conformance/script.ts'

/** Claude Code's own tools. */
export const claudeDialect: Dialect = {
  tool(call) {
    // Through the library the server has its plain name.
    if ('own' in call) return { [`mcp__pcc*__${call.own}`]: call.input }
    if ('run' in call) return { Bash: { command: call.run, description: 'runs a command' } }
    if ('write' in call) return { Write: { file_path: `{{cwd}}/${call.write}`, content: call.content } }
    if ('delegate' in call) {
      return { Agent: { description: 'helps', prompt: call.delegate, subagent_type: call.to ?? 'general-purpose' } }
    }
    if ('plan' in call) {
      const status = { pending: 'pending', active: 'in_progress', done: 'completed' }
      return {
        TodoWrite: {
          todos: call.plan.map(({ text, state }) => ({ content: text, status: status[state], activeForm: text })),
        },
      }
    }
    const { question, options, several = false } = call.ask
    const choices = options.map(label => ({ label, description: label }))
    return { AskUserQuestion: { questions: [{ question, header: 'Choice', multiSelect: several, options: choices }] } }
  },
}

/** The simulator as Claude's model. */
export function claudeModel(scripts: Script[]): Promise<Model> {
  return simulatedModel(scripts, claudeDialect)
}
