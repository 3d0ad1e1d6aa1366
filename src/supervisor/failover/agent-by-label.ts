import type { Task } from '../../domain/task.ts'

/** The agent with which a task begins by one of its labels: the first pair of `failover.labels` ("docs=gemini") that fits. */
export function agentByLabel({ labels }: Pick<Task, 'labels'>, pairs: readonly string[]): string | undefined {
  const has = new Set(labels.split(' ').filter(Boolean))
  for (const pair of pairs) {
    const [label = '', ...agent] = pair.split('=')
    if (has.has(label.trim())) return agent.join('=').trim()
  }
  return undefined
}
