import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Where refs point, as git's own files say it: as quick as a glance, where calling git takes as long as most of what we do with
 * it. Undefined where they are kept in another form or point at one another, and git has to be asked.
 */
export async function readRefs(common: string, names: readonly string[]): Promise<Map<string, string> | undefined> {
  if (await lstat(join(common, 'reftable')).catch(() => undefined)) return undefined
  const packed = await readFile(join(common, 'packed-refs'), 'utf8').catch(() => '')
  const found = new Map<string, string>()
  for (const name of names) {
    const own = await readFile(join(common, name), 'utf8').catch(() => undefined)
    const text = own?.trimEnd() ?? packedOid(packed, name)
    if (text === undefined) continue
    if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text)) return undefined
    found.set(name, text)
  }
  return found
}

function packedOid(packed: string, name: string): string | undefined {
  const at = packed.indexOf(` ${name}\n`)
  return at < 0 ? undefined : packed.slice(packed.lastIndexOf('\n', at) + 1, at)
}
