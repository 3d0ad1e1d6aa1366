import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { secretId } from '../../../src/base/ids.ts'
import { openGuard } from '../../../src/base/process/guardian.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked, sweepMarked } from '../../../src/base/process/sweep.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { allStarted, type MessyTool, messyTool } from './messy-tool.ts'

const machine = openGuard()
const levels = [...new Set([machine.level('marker'), machine.level('namespace')])]

for (const level of levels) {
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    test(`${level}: after ${signal} to the owner nothing of its agent is alive`, async t => {
      const { owner, tool, marker } = await startOwner(t, level)
      owner.kill(signal)
      await once(owner, 'exit')
      await tool.untilNone()
      await untilNothingCarries(marker)
    })
  }

  test(`${level}: an agent that refuses SIGTERM, SIGHUP and a closed input dies with its owner`, async t => {
    const { owner, tool, marker } = await startOwner(t, level, 'trap "" TERM HUP; while :; do sleep 0.1; done')
    owner.kill('SIGKILL')
    await tool.untilNone()
    await untilNothingCarries(marker)
  })

  test(`${level}: SIGTERM to the guardian's group ends what it guards, even if the owner hangs`, async t => {
    const { owner, tool, marker } = await startOwner(t, level)
    owner.kill('SIGSTOP')
    process.kill(-guardianOf(marker), 'SIGTERM')
    await tool.untilNone()
    await untilNothingCarries(marker)
  })

  test(`${level}: an agent whose guardian is killed is ended by the owner, not left unguarded`, async t => {
    const { tool, marker } = await startOwner(t, level)
    process.kill(guardianOf(marker), 'SIGKILL')
    await tool.untilNone()
    await untilNothingCarries(marker)
  })

  test(`${level}: with owner and guardian killed at once, a later sweep by the marker finds all`, async t => {
    const { owner, tool, marker } = await startOwner(t, level)
    const guardian = guardianOf(marker)
    // Stopped first, because either would clean up right after the other's death.
    owner.kill('SIGSTOP')
    process.kill(guardian, 'SIGKILL')
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    assert.equal(tool.survivors().length, 5)
    assert.deepEqual((await sweepMarked(sessionMarker(marker))).left, [])
    assert.deepEqual(tool.survivors(), [])
  })
}

interface Owned {
  owner: ChildProcess
  tool: MessyTool
  marker: string
}

async function startOwner(t: TestContext, level: string, then = 'exec sleep 600'): Promise<Owned> {
  const tool = messyTool(t, then)
  const marker = secretId()
  const program = fileURLToPath(new URL('./guardian-owner.ts', import.meta.url))
  const owner = spawn(process.execPath, [program, level, marker, tool.script], {
    env: bareEnv(tempDir(t)),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(async () => {
    owner.kill('SIGKILL')
    await sweepMarked(sessionMarker(marker))
  })
  await once(owner.stdout, 'data')
  await allStarted(tool)
  return { owner, tool, marker }
}

function guardianOf(marker: string): number {
  const guardian = readdirSync('/proc')
    .map(Number)
    .find(pid => isGuardian(pid, marker))
  assert.ok(guardian)
  return guardian
}

function isGuardian(pid: number, marker: string): boolean {
  if (!Number.isInteger(pid)) return false
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')
    return words.includes('pcc-guardian') && words.includes(`PCC_SESSION_MARK=${marker}`)
  } catch {
    return false
  }
}

async function untilNothingCarries(marker: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(20)) {
    if ((await findMarked(sessionMarker(marker))).length === 0) return
  }
  assert.fail('something still carries the marker')
}
