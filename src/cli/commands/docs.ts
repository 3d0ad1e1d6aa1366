import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { packagePath } from '../../base/program.ts'
import { commandContext } from '../context.ts'

/** `pcc docs [topic]`: prints a page of the documentation, which is installed with the program. */
export function addDocsCommand(program: Command): void {
  program
    .command('docs')
    .description('Print a page of the documentation, or list the pages')
    .argument('[topic]', 'the page, as in runs or permissions')
    .option('--json', 'print JSON: the pages, or the text of one')
    .action(async (topic: string | undefined, _options: object, command: Command) => {
      const { json, out } = await commandContext(command)
      const folder = packagePath('docs/')
      const topics = globSync('*.md', { cwd: folder, exclude: ['README.md'] })
        .map(file => file.slice(0, -'.md'.length))
        .toSorted()
      const read = (name: string) => readFileSync(join(folder, `${name}.md`), 'utf8').trimEnd()
      if (topic === undefined) {
        const pages = topics.map(name => ({
          topic: name,
          title: read(name).split('\n', 1).join('').replace(/^#+ /, ''),
        }))
        if (json) return out(JSON.stringify({ pages }, null, 2))
        const width = Math.max(...topics.map(name => name.length))
        for (const page of pages) out(`${page.topic.padEnd(width)}  ${page.title}`)
        return out('\nRead one with: pcc docs <topic>')
      }
      const name = topic.replace(/^docs\//, '').replace(/\.md$/, '')
      if (!topics.includes(name))
        throw new AppError('usage', {
          problem: `there is no page "${topic}"; list the pages with: pcc docs`,
          command: 'docs',
        })
      out(json ? JSON.stringify({ topic: name, text: read(name) }) : read(name))
    })
}
