import { type ScriptedAgent, scriptedAgent, type Turn } from '../session/scripted-agent.ts'

/** An agent that plays the turns scripted for a task's name, in order, and then does the task. */
export function meeting(script: Record<string, Turn[]>): ScriptedAgent {
  return scriptedAgent(prompt => script[named(prompt)]?.shift() ?? {})
}

/** The name of the task that a brief is about; any other prompt is returned unchanged. */
export function named(prompt: string): string {
  return /^## Your task: .*\n\n(.+)$/m.exec(prompt)?.[1] ?? prompt
}

/** A failure of the agent's own work, which does not pass by itself. */
export const FAILED: Turn = { failure: { kind: 'refusal', message: 'it will not' } }

/** Counts how many sessions of an agent were open at once. */
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
