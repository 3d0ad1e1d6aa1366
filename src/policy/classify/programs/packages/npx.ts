import type { Call } from '../../call.ts'
import { isFlag } from '../../words/arg.ts'

/** Tools that projects commonly have installed: `npx` runs the installed one. */
const LOCAL_TOOLS =
  /^(tsc|eslint|prettier|jest|vitest|mocha|ava|tap|c8|nyc|biome|knip|turbo|nx|vite|webpack|rollup|esbuild|next|nuxt|astro|tsup|stylelint|commitlint|markdownlint|markdownlint-cli2|cspell|playwright|cypress|tsx|ts-node|prisma|drizzle-kit|svelte-check|vue-tsc|ng|expo|react-scripts|lint-staged|depcheck|madge|size-limit|publint|attw|oxlint|dprint|karma|jasmine|wdio|storybook|sb|typedoc|tailwindcss|postcss|sass|babel|swc|rimraf|concurrently|npm-run-all|run-s|run-p|cross-env|dotenv|nodemon|http-server|serve|jsdoc|graphql-codegen|openapi-typescript|standard|xo|gulp|grunt|parcel)$/

export function npx(call: Call): undefined {
  const { args } = call
  const place = args.findIndex(
    (arg, at) =>
      !isFlag(arg) &&
      !/^(-p|--package|-c|--call|--registry|--userconfig|--cache|-w|--workspace|--node-options|--shell|--script-shell)$/.test(
        args[at - 1]?.value ?? '',
      ),
  )
  const flags = place < 0 ? args : args.slice(0, place)
  const shell = flags.findIndex(arg => /^(-c|--call)$/.test(arg.value))
  const text = shell < 0 ? undefined : args[shell + 1]
  if (text) call.shell(text)
  const other = flags.find(arg =>
    /^--(registry|userconfig|node-options|shell|script-shell|node-arg)(=|$)|^-n$/.test(arg.value),
  )
  if (other) call.say('pkg.registry', 'HIGH', `${other.text} changes where packages come from or what runs them`, other)
  const tool = args[place]
  if (tool === undefined) return call.say('pkg.exec', 'MEDIUM', `${call.name} runs a program`)
  if (!tool.known) return call.say('script.unknown', 'HIGH', 'which program it is, is known only when it runs', tool)
  if (/^https?:|^git/.test(tool.value))
    return call.say('net.run', 'HIGH', `${tool.text} is code from the network`, tool)
  const fetches = flags.some(
    arg => !/^(--no-install|--no|--quiet|-q|--silent|--offline|--prefer-offline|--bun)$/.test(arg.value),
  )
  if (!LOCAL_TOOLS.test(tool.value) || fetches)
    call.say('pkg.exec', 'MEDIUM', `${tool.text} may be fetched and run`, tool)
  if (/^[\w-]+$/.test(tool.value)) call.run(args.slice(place))
}
