import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { AgentProcess } from '../../../src/agents/agent-process.ts'
import { secretId } from '../../../src/base/ids.ts'
import { openGuard } from '../../../src/base/process/guardian.ts'
import type { Isolation } from '../../../src/base/process/isolation.ts'
import { findBubblewrap } from '../../../src/base/sandbox/bubblewrap.ts'
import { openSandbox } from '../../../src/base/sandbox/sandbox.ts'
import type { AgentFolder, SandboxNeeds, SandboxSettings } from '../../../src/base/sandbox/settings.ts'
import { geminiAgent } from '../../../src/domain/agents/gemini.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

/** Whether this machine can make a sandbox, or why not. */
export const bubblewrap = await findBubblewrap()

interface Around {
  project: string
  home?: string
  settings?: Partial<SandboxSettings>
  needs?: Partial<SandboxNeeds>
  isolation?: Isolation
  env?: Record<string, string>
  reading?: boolean
}

/** The folder of an agent that may write all of it. */
export function agentFolder(more: Partial<AgentFolder> = {}): AgentFolder {
  return {
    ...{ name: '.agent', variable: 'AGENT_HOME', writable: [''], readOnly: [], login: [], shown: [], programsIn: [] },
    ...more,
  }
}

/** A program in a sandbox of its own, as an agent is started. */
export async function inSandbox(
  t: TestContext,
  { project, home, settings, needs, isolation = 'auto', env, reading = false }: Around,
) {
  if (!('program' in bubblewrap)) throw new Error(bubblewrap.problem)
  const dir = home ?? tempDir(t)
  mkdirSync(join(dir, '.agent'), { recursive: true })
  const all = { ...bareEnv(dir), ...env }
  const said: string[] = []
  const sandbox = await openSandbox({
    bubblewrap,
    settings: { mode: 'required', network: [], read: [], write: [], hidden: [], ...settings },
    needs: { folder: agentFolder(), hosts: [], addresses: [], ...needs },
    env: all,
    reading,
    log: line => said.push(line),
  })
  const agent = new AgentProcess({
    manifest: geminiAgent,
    guard: openGuard(),
    isolation,
    marker: secretId(16),
    sandbox,
  })
  t.after(() => agent.end())
  const start = (...command: [string, ...string[]]) => {
    const [program, ...args] = command
    return agent.spawn({ command: program, args, cwd: project, env: all, signal: new AbortController().signal })
  }
  /** Runs a shell line to its end; returns its output and its exit code. */
  const sh = async (line: string) => {
    const child = start('/bin/sh', '-c', line)
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        out += text
      })
    const [code] = await once(child, 'close')
    return { out: out.trim(), code: Number(code) }
  }
  return { agent, home: dir, said, start, sh }
}
