import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ROOT } from '../../places.ts'
import { applyPatch } from './apply-patch.ts'
import type { Plant } from './plant.ts'

/** The files of a checkout that a daemon running from source needs. */
const NEEDED = ['src', 'bin', 'package.json', 'test/daemon/run-daemon.ts']

/** A copy of the source in which mistakes can be planted. */
export interface SourceCopy extends Disposable {
  root: string
  /** Plants a mistake; disposing removes it. Throws if a patch does not match the source. */
  plant(plant: Plant): Disposable
}

/** Copies the source once, because the same path for all mistakes lets Node's compile cache serve them all. */
export function copySource(needed = NEEDED): SourceCopy {
  const root = mkdtempSync(join(tmpdir(), 'pcc-planted-source-'))
  const remove = () => rmSync(root, { recursive: true, force: true })
  process.once('exit', remove)
  for (const path of needed) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    cpSync(join(ROOT, path), join(root, path), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  return {
    root,
    plant: ({ patches }) => {
      const before = new Map<string, string>()
      // All patches are tried before the first is written, because half a mistake is a different one.
      const after = new Map<string, string>()
      for (const patch of patches) {
        const text = after.get(patch.file) ?? readFileSync(join(root, patch.file), 'utf8')
        if (!before.has(patch.file)) before.set(patch.file, text)
        after.set(patch.file, applyPatch(text, patch))
      }
      const write = (texts: Map<string, string>) => {
        for (const [file, text] of texts) writeFileSync(join(root, file), text)
      }
      write(after)
      return { [Symbol.dispose]: () => write(before) }
    },
    [Symbol.dispose]() {
      process.off('exit', remove)
      remove()
    },
  }
}
