// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The virtual clock as a page that processes map: /dev/fairwind-clock. It holds what the clock source counts, in
 * nanoseconds since the kernel began: CLOCK_MONOTONIC less a constant. A read of the page costs nothing; one by a system
 * call costs two switches between processes.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/time-internal.h>

void fairwind_show_time(unsigned long long ns);

static unsigned long long *page;

void fairwind_show_time(unsigned long long ns)
{
	if (page)
		WRITE_ONCE(*page, ns / TIMER_MULTIPLIER * TIMER_MULTIPLIER);
}

static int clock_mmap(struct file *file, struct vm_area_struct *area)
{
	if (area->vm_end - area->vm_start != PAGE_SIZE || area->vm_pgoff || (area->vm_flags & VM_WRITE))
		return -EINVAL;
	return remap_pfn_range(area, area->vm_start, __pa(page) >> PAGE_SHIFT, PAGE_SIZE,
			       area->vm_page_prot);
}

static const struct file_operations operations = {
	.mmap = clock_mmap,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fairwind-clock",
	.mode = 0444,
	.fops = &operations,
};

static int __init clock_init(void)
{
	page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	return misc_register(&device);
}
device_initcall(clock_init);
