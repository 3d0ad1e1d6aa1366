import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { geminiManifest } from '../../../src/agents/manifests/gemini.ts'
import { findNeededSandbox } from '../../../src/agents/sandbox/bubblewrap.ts'

/** The only thing to test on a machine without a sandbox: the refusal. */
export async function refusedHere(t: TestContext): Promise<void> {
  t.diagnostic('no sandbox can be made on this machine: only the refusal was looked at')
  await assert.rejects(findNeededSandbox(geminiManifest, 'required'), { code: 'sandbox_missing' })
}
