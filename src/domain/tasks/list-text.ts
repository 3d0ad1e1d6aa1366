/** Tasks, each as JSON text, as JSON with a line for each: a person can search through it, and a program prints it as it came. */
export function taskListText(tasks: readonly string[]): string {
  return `{"tasks":[${tasks.length === 0 ? '' : `\n${tasks.join(',\n')}\n`}]}`
}
