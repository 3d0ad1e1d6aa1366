import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Failure, OpenSession } from '../../../src/domain/session.ts'
import { tempDir } from '../../support/world.ts'
import { type ScriptedAgent, scriptedAgent, type Turn } from '../session/scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from '../session/scripted-world.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
/** Agents whose every call is gated, in the order of the settings. */
export const ORDER = ['claude', 'codex', 'opencode'] as const
export type Name = (typeof ORDER)[number]

export interface Opened {
  agent: Name
  prompt: string
  resume: string | undefined
}

export interface SeveralAgents extends ScriptedWorld {
  agents: Record<Name, ScriptedAgent>
  /** Every opening of an agent, in order. */
  opened: Opened[]
  /** The environment of every session, with the programs of these agents on the PATH. */
  env: Record<string, string>
  /** Openings while another agent was open: there must be none. */
  together: string[]
  begin(task?: string): Promise<string>
}

export type Turns = Partial<Record<Name, (call: number, prompt: string) => Turn>>

/** Three agents that take over from one another, each with a script of its own. */
export async function severalAgents(
  t: TestContext,
  turns: Turns,
  { settings = {}, installed = ORDER }: { settings?: Record<string, string>; installed?: readonly Name[] } = {},
): Promise<SeveralAgents> {
  const bin = tempDir(t)
  for (const name of installed) {
    writeFileSync(join(bin, name), '#!/bin/sh\n')
    chmodSync(join(bin, name), 0o755)
  }
  const made = ORDER.map(name => [name, scriptedAgent((prompt, call) => turns[name]?.(call, prompt) ?? {})] as const)
  const agents = Object.fromEntries(made) as Record<Name, ScriptedAgent>
  const opened: Opened[] = []
  const together: string[] = []
  const drivers = Object.fromEntries(
    made.map(([name, { driver }]) => {
      const open = (options: OpenSession) => {
        const others = made.filter(([, agent]) => agent.open() > 0)
        together.push(...others.map(([other]) => `${name} beside ${other}`))
        opened.push({ agent: name, prompt: options.prompt ?? '', resume: options.resume?.vendorId })
        return driver.open(options)
      }
      return [name, { ...driver, agent: name, open }]
    }),
  )
  const world = await scriptedWorld(
    t,
    agents.claude,
    { PCC_FAILOVER_AGENTS: ORDER.join(','), ...settings },
    async ({ agent }) => {
      const driver = drivers[agent.kind]
      if (!driver) throw new Error(`no ${agent.kind}`)
      return driver
    },
  )
  const env = { PATH: bin }
  return { ...world, agents, opened, together, env, begin: (task = 'write it') => world.start(task, { env }) }
}

/** A limit that resets after this long. */
export function limit(inMs: number): Failure {
  return { kind: 'limit', message: 'full', limit: { source: 'result', message: 'full', resetsAt: Date.now() + inMs } }
}

export const isComplete = ({ status }: { status: string }) => status === 'completed'
export const isLimited = ({ status }: { status: string }) => status === 'rate_limited'
