import { AppError } from '../base/errors.ts'
import type { AgentChoice } from '../domain/agent-choice.ts'
import type { AgentManifest } from '../domain/agent-manifest.ts'
import { AGENT_DEFINITIONS, AGENTS } from '../domain/agents/agent-registry.ts'
import { findManifest } from '../domain/agents/find-manifest.ts'
import type { SessionHost } from '../domain/option-values.ts'
import type { Driver } from '../domain/session.ts'
import type { AcpDriverOptions } from './acp/driver.ts'
import type { TmuxHost } from './tmux/driver.ts'

/** Which driver a session needs. */
export interface DriverRequest {
  agent: AgentChoice
  /** The claude program of the settings (`agents.path`). */
  executable?: string | undefined
  appendPrompt?: string | undefined
  /** Where the agent's process lives; without a host it is our own child. */
  host?: SessionHost | undefined
}

export interface Drivers extends AsyncDisposable {
  /** The driver of an agent: one for each way of starting it, made on first use. */
  get(wanted: DriverRequest): Promise<Driver>
}

/** Drivers by request, opened on first use: a vendor's library takes 37 MB, which an idle daemon saves. */
export function openDrivers(log: (line: string) => void, hosts: { tmux?: TmuxHost } = {}): Drivers {
  const drivers = new Map<string, Promise<Driver>>()
  return {
    get(wanted) {
      const key = JSON.stringify(wanted)
      const driver =
        drivers.get(key) ?? (wanted.host ? openHostedDriver(wanted, log, hosts) : openPlainDriver(wanted, log))
      drivers.set(key, driver)
      // The next session tries again to open a driver that could not be opened.
      driver.catch(() => drivers.delete(key))
      return driver
    },
    async [Symbol.asyncDispose]() {
      const opened = await Promise.allSettled(drivers.values())
      await Promise.allSettled(opened.map(result => (result.status === 'fulfilled' ? result.value.close() : undefined)))
    },
  }
}

function openPlainDriver(
  { agent, executable, appendPrompt }: DriverRequest,
  log: (line: string) => void,
): Promise<Driver> {
  const manifest = findManifest(agent)
  if (manifest.speaks === 'sdk')
    return openDriver(manifest, { executable: agent.command?.[0] ?? executable, appendPrompt, log })
  // The command of a custom agent is in its manifest.
  const command = agent.kind === 'custom' ? undefined : agent.command
  return openDriver(manifest, { log, appendPrompt, ...(command && { command }) })
}

/** An agent in a terminal must report through hooks what it does there. */
async function openHostedDriver(
  { agent, executable, appendPrompt }: DriverRequest,
  log: (line: string) => void,
  { tmux }: { tmux?: TmuxHost },
): Promise<Driver> {
  if (agent.kind === 'custom' || !AGENTS[agent.kind].inTmux || !tmux) {
    const hooked = AGENT_DEFINITIONS.flatMap(({ name, inTmux }) => (inTmux ? [name] : []))
    const problem = `only ${hooked.join(' and ')} reports through hooks what it does there`
    throw new AppError('host_cannot', { agent: findManifest(agent).name, problem })
  }
  const { tmuxDriver } = await import('./tmux/driver.ts')
  return tmuxDriver(tmux, { executable: agent.command?.[0] ?? executable, appendPrompt, log })
}

/** The driver of one agent. A vendor's library is imported on first use. */
export async function openDriver(manifest: AgentManifest, options: AcpDriverOptions): Promise<Driver> {
  switch (manifest.speaks) {
    case 'sdk': {
      const { claudeDriver } = await import('./claude/driver.ts')
      return claudeDriver(options)
    }
    case 'acp': {
      const { acpDriver } = await import('./acp/driver.ts')
      return acpDriver(manifest, options)
    }
    case 'app-server': {
      const { codexDriver } = await import('./codex/driver.ts')
      return codexDriver(options)
    }
  }
}
