import { dirname, join, resolve } from 'node:path'

/** Resolves the links of a row without creating them, because the paths of a corpus do not exist on disk. */
export function followLinks(links: Record<string, string>): (path: string) => string | undefined {
  const follow = (path: string, hops: number): string | undefined => {
    if (hops > 40) return undefined
    const target = links[path]
    if (target !== undefined) return follow(resolve(dirname(path), target), hops + 1)
    const parent = dirname(path)
    if (parent === path) return path
    const real = follow(parent, hops + 1)
    if (real === undefined) return undefined
    const here = join(real, path.slice(parent.length + (parent === '/' ? 0 : 1)))
    return here !== path && links[here] !== undefined ? follow(here, hops + 1) : here
  }
  return path => follow(resolve(path), 0)
}
