import { type ScriptedAgent, scriptedAgent, type Turn } from '../session/scripted-agent.ts'

/** The agent meets what stands under the task's name, in order; then it does the task. */
export function meeting(script: Record<string, Turn[]>): ScriptedAgent {
  return scriptedAgent(prompt => script[named(prompt)]?.shift() ?? {})
}

/** The task that a brief is about; any other prompt as it is. */
export function named(prompt: string): string {
  return /^## Your task: .*\n\n(.+)$/m.exec(prompt)?.[1] ?? prompt
}

/** The agent's own failure: nothing that passes by itself. */
export const FAILED: Turn = { failure: { kind: 'refusal', message: 'it will not' } }

/** An agent of which is known how many were open at once. */
export function watched(agent: ScriptedAgent): { agent: ScriptedAgent; most(): number } {
  const { driver } = agent
  let most = 0
  const open: typeof driver.open = async options => {
    const session = await driver.open(options)
    most = Math.max(most, agent.open())
    return session
  }
  return { agent: { ...agent, driver: { ...driver, open } }, most: () => most }
}
