import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { findNeededSandbox } from '../../../src/base/sandbox/bubblewrap.ts'

/** The only thing to test on a machine without a sandbox: the refusal. */
export async function refusedHere(t: TestContext): Promise<void> {
  t.diagnostic('no sandbox can be made on this machine: only the refusal was looked at')
  await assert.rejects(findNeededSandbox('Gemini CLI', 'required'), { code: 'sandbox_missing' })
}
